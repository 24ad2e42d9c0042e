//! Calling off the jobs of a batch that wait.

use super::{
    cancel::{CalledOff, Reach, call_off, leave_lines},
    free::free,
    hold::probe_only,
};
use crate::error::QueueError;
use model::id::{BatchId, JobId};
use sqlx::PgConnection;

/// Calls off up to `most` of a batch's jobs that wait; those being processed end by themselves, and what somebody holds right now, itself or
/// its key, is passed over. Answers which. Call it in a transaction; what is left is the leader's
/// ([`CallOffs`](crate::maintenance::CallOffs)).
///
/// # Errors
/// When the database is away, refuses one of them, or lost a race: nothing is changed.
pub async fn cancel_of_batch(
    connection: &mut PgConnection,
    batch_id: BatchId,
    why: &str,
    most: i64,
) -> Result<Vec<JobId>, QueueError> {
    probe_only(connection).await?;
    let ids = to_call_off(connection, batch_id, most, &[]).await?;
    call_these_off(connection, batch_id, why, &ids).await
}

/// Up to `most` of a batch's jobs that wait, but for some.
///
/// # Errors
/// When the database is away.
pub(crate) async fn to_call_off(
    connection: &mut PgConnection,
    batch_id: BatchId,
    most: i64,
    but_for: &[JobId],
) -> Result<Vec<JobId>, QueueError> {
    let ids = sqlx::query_scalar!(
        r#"
        select j.id as "id: JobId" from headgate.jobs j
        where j.batch_id = $1 and j.status <> 1 and j.id <> all ($3)
        order by j.id
        limit $2
        "#,
        batch_id as BatchId,
        most,
        but_for as &[JobId],
    )
    .persistent(false)
    .fetch_all(connection)
    .await?;
    Ok(ids)
}

/// Calls off those of these jobs that wait in the batch still and are free; answers which. Call it in a transaction.
///
/// # Errors
/// As [`cancel_of_batch`].
pub(crate) async fn call_these_off(
    connection: &mut PgConnection,
    batch_id: BatchId,
    why: &str,
    ids: &[JobId],
) -> Result<Vec<JobId>, QueueError> {
    let free = free(connection, ids, Some(batch_id)).await?;
    if free.is_empty() {
        return Ok(Vec::new());
    }
    let CalledOff { ended, .. } = call_off(connection, &free, why, Reach::Waiting).await?;
    leave_lines(connection, &ended).await?;
    Ok(ended.into_iter().map(|one| one.id).collect())
}
