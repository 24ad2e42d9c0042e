//! Cancelling the waiting jobs of a batch.

use super::park::probe_only;
use crate::error::Result;
use crate::store::jobs::cancel::one::{Cancelled, Reach, cancel_rows, leave_keys};
use crate::store::jobs::cancel::try_lock::try_lock_waiting;
use model::id::{BatchId, JobId};
use sqlx::PgConnection;

/// Cancels up to `limit` waiting jobs of a batch and returns which. Those being processed end by themselves; those that are locked elsewhere, or
/// whose key is, are skipped. Call it in a transaction; the leader cancels the rest ([`BatchJobs`](crate::maintenance::BatchJobs)).
///
/// # Errors
/// When the database refuses one of them, or it lost a race: nothing is changed.
pub async fn cancel_batch_jobs(
    connection: &mut PgConnection,
    batch_id: BatchId,
    why: &str,
    limit: i64,
) -> Result<Vec<JobId>> {
    probe_only(connection).await?;
    let ids = batch_jobs_to_cancel(connection, batch_id, limit, &[]).await?;
    cancel_these(connection, batch_id, why, &ids).await
}

/// Up to `limit` waiting jobs of a batch, without the excluded ones.
pub(crate) async fn batch_jobs_to_cancel(
    connection: &mut PgConnection,
    batch_id: BatchId,
    limit: i64,
    excluded: &[JobId],
) -> Result<Vec<JobId>> {
    let ids = sqlx::query_scalar!(
        r#"
        select j.id as "id: JobId" from headgate.jobs j
        where j.batch_id = $1 and j.status <> 1 and j.id <> all ($3)
        order by j.id
        limit $2
        "#,
        batch_id as BatchId,
        limit,
        excluded as &[JobId],
    )
    .persistent(false)
    .fetch_all(connection)
    .await?;
    Ok(ids)
}

/// Cancels those of these jobs that still wait in the batch and are not locked, and returns which. Call it in a transaction.
///
/// # Errors
/// As [`cancel_batch_jobs`].
pub(crate) async fn cancel_these(
    connection: &mut PgConnection,
    batch_id: BatchId,
    why: &str,
    ids: &[JobId],
) -> Result<Vec<JobId>> {
    let locked = try_lock_waiting(connection, ids, Some(batch_id)).await?;
    if locked.is_empty() {
        return Ok(Vec::new());
    }
    let Cancelled { ended, .. } = cancel_rows(connection, &locked, why, Reach::Waiting).await?;
    leave_keys(connection, &ended).await?;
    Ok(ended.into_iter().map(|one| one.id).collect())
}
