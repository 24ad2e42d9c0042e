//! Calling many jobs off together: what a bulk action does, set by set instead of job by job.

use super::{
    cancel::{CalledOff, Reach, call_off, drop_successor, leave_lines, lock_ahead},
    keys,
};
use crate::error::QueueError;
use model::{
    actor::Scope,
    id::{AppId, IntegrationId, JobId},
};
use sqlx::PgConnection;
use std::collections::HashSet;

/// Calls off those of the jobs that are live and in scope, as [`super::cancel`] does with one; answers which, those included that are
/// being processed and whose workers were asked to let go of them. Run it in a transaction.
///
/// # Errors
/// When the database is away, or lost a race: nothing is changed, repeat.
pub(crate) async fn cancel_many(
    connection: &mut PgConnection,
    scope: Scope,
    ids: &[JobId],
) -> Result<HashSet<JobId>, QueueError> {
    let mut cancelled = HashSet::with_capacity(ids.len());
    // A second round for successors that became the row when the job before them was called off.
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
        lock_ahead(connection, &live).await?;
        let CalledOff { ended, asked } = call_off(connection, &live, "cancelled", Reach::Rows).await?;
        leave_lines(connection, &ended).await?;
        cancelled.extend(ended.iter().map(|one| one.id).chain(asked));
    }
    let left: Vec<JobId> = ids.iter().copied().filter(|id| !cancelled.contains(id)).collect();
    if left.is_empty() {
        return Ok(cancelled);
    }
    let behind = sqlx::query!(
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
        behind.iter().filter_map(|one| Some((one.integration_id, one.key.clone()?))).unzip();
    if !keys.is_empty() {
        keys::lock(connection, &lanes, &keys).await?;
    }
    for one in behind {
        let ended = drop_successor(connection, one.id).await?;
        leave_lines(connection, &ended).await?;
        cancelled.extend(ended.iter().map(|one| one.id));
    }
    Ok(cancelled)
}
