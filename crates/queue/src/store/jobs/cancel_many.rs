//! Calling many jobs off together: what a bulk action does, set by set instead of job by job.

use super::{
    cancel::{Ended, call_off, drop_successor, leave_lines},
    keys,
};
use crate::error::QueueError;
use model::{
    actor::Scope,
    id::{AppId, IntegrationId, JobId},
};
use sqlx::PgConnection;
use std::collections::{BTreeSet, HashSet};

/// Calls off those of the jobs that are live and in scope, as [`super::cancel`] does with one; answers which. Run it in a transaction.
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
        let rows = sqlx::query_as!(
            Ended,
            r#"
            select id as "id: JobId", integration_id as "integration_id: IntegrationId", serialize_key from headgate.jobs
            where id = any ($1) and ($2::uuid is null or app_id = $2)
            order by integration_id, deduplication_id nulls last, id
            "#,
            ids as &[JobId],
            scope.app_id() as Option<AppId>,
        )
        .fetch_all(&mut *connection)
        .await?;
        if rows.is_empty() {
            break;
        }
        lock_keys(connection, &rows).await?;
        let live: Vec<JobId> = rows.iter().map(|row| row.id).collect();
        let ended = call_off(connection, &live, "cancelled", false).await?;
        leave_lines(connection, &ended).await?;
        cancelled.extend(ended.iter().map(|one| one.id));
    }
    let left: Vec<JobId> = ids.iter().copied().filter(|id| !cancelled.contains(id)).collect();
    if left.is_empty() {
        return Ok(cancelled);
    }
    let behind = sqlx::query_as!(
        Ended,
        r#"
        select (successor ->> 'id')::uuid as "id!: JobId", integration_id as "integration_id: IntegrationId",
            successor ->> 'serialize_key' as serialize_key
        from headgate.jobs
        where successor is not null and (successor ->> 'id')::uuid = any ($1) and ($2::uuid is null or app_id = $2)
        order by integration_id, deduplication_id
        "#,
        &left as &[JobId],
        scope.app_id() as Option<AppId>,
    )
    .fetch_all(&mut *connection)
    .await?;
    lock_keys(connection, &behind).await?;
    for one in behind {
        let ended = drop_successor(connection, one.id).await?;
        leave_lines(connection, &ended).await?;
        cancelled.extend(ended.iter().map(|one| one.id));
    }
    Ok(cancelled)
}

/// Keys before jobs: the order of locks.
async fn lock_keys(connection: &mut PgConnection, rows: &[Ended]) -> Result<(), QueueError> {
    let keyed: BTreeSet<(IntegrationId, &str)> =
        rows.iter().filter_map(|row| Some((row.integration_id, row.serialize_key.as_deref()?))).collect();
    if keyed.is_empty() {
        return Ok(());
    }
    let (lanes, keys): (Vec<IntegrationId>, Vec<String>) =
        keyed.into_iter().map(|(lane, key)| (lane, key.to_owned())).unzip();
    keys::lock(connection, &lanes, &keys).await
}
