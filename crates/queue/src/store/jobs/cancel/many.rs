//! Cancelling many jobs together: what a bulk action does, set by set instead of job by job.

use crate::error::Result;
use crate::store::jobs::cancel::one::{
    Cancelled, Reach, cancel_rows, drop_successor, leave_keys, lock_integrations_and_keys,
};
use crate::store::jobs::rows::keys;
use model::actor::Scope;
use model::id::{AppId, IntegrationId, JobId};
use sqlx::PgConnection;
use std::collections::HashSet;

/// Cancels those of the jobs that are live and in scope, as [`crate::store::jobs::cancel()`] does with one, and returns which: also those that are being
/// processed and whose workers were requested to stop. Run it in a transaction.
///
/// # Errors
/// When it lost a race: nothing is changed, repeat.
pub async fn cancel_many(
    connection: &mut PgConnection,
    scope: Scope,
    ids: &[JobId],
) -> Result<HashSet<JobId>> {
    let mut cancelled = HashSet::with_capacity(ids.len());
    // A second round for successors that became the row when the job before them was cancelled.
    for _ in 0..2 {
        let live = sqlx::query_scalar!(
            r#"
            select id as "id: JobId" from headgate.jobs
            where id = any ($1) and id <> all ($3) and ($2::uuid is null or app_id = $2)
            order by integration_id, deduplication_id collate "C" nulls last, id
            "#,
            ids as &[JobId],
            scope.app_id() as Option<AppId>,
            &cancelled.iter().copied().collect::<Vec<_>>() as &[JobId],
        )
        .fetch_all(&mut *connection)
        .await?;
        if live.is_empty() {
            break;
        }
        lock_integrations_and_keys(connection, &live).await?;
        let Cancelled { ended, requested } = cancel_rows(connection, &live, "cancelled", Reach::Rows).await?;
        leave_keys(connection, &ended).await?;
        cancelled.extend(ended.iter().map(|one| one.id).chain(requested));
    }
    let left: Vec<JobId> = ids.iter().copied().filter(|id| !cancelled.contains(id)).collect();
    if left.is_empty() {
        return Ok(cancelled);
    }
    let successors = sqlx::query!(
        r#"
        select (successor ->> 'id')::uuid as "id!: JobId", integration_id as "integration_id: IntegrationId",
            successor ->> 'serialize_key' as key
        from headgate.jobs
        where successor is not null and (successor ->> 'id')::uuid = any ($1) and ($2::uuid is null or app_id = $2)
        order by integration_id, deduplication_id collate "C"
        "#,
        &left as &[JobId],
        scope.app_id() as Option<AppId>,
    )
    .fetch_all(&mut *connection)
    .await?;
    // Keys before jobs: the order of locks.
    let (lanes, keys): (Vec<IntegrationId>, Vec<String>) =
        successors.iter().filter_map(|one| Some((one.integration_id, one.key.clone()?))).unzip();
    if !keys.is_empty() {
        keys::lock(connection, &lanes, &keys).await?;
    }
    for one in successors {
        let ended = drop_successor(connection, one.id).await?;
        leave_keys(connection, &ended).await?;
        cancelled.extend(ended.iter().map(|one| one.id));
    }
    Ok(cancelled)
}
