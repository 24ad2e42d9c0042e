//! Jobs a live worker holds without knowing: its claim was committed and the answer was lost with the connection.

use crate::{
    error::QueueError,
    store::jobs::{End, Ending, finish},
};
use chrono::DateTime;
use model::id::{AssignmentId, ClaimBatchId, IntegrationId, JobId, WorkerId};
use sqlx::PgPool;
use std::time::Duration;

/// Gives back what a worker holds by claim batches other than the `known` ones; answers how many jobs. No claim of this worker may be
/// under way; one whose connection broke is waited for by its lock.
pub(crate) async fn give_back_unknown(
    pool: &PgPool,
    worker_id: WorkerId,
    known: &[ClaimBatchId],
) -> Result<usize, QueueError> {
    struct Row {
        batch_id: ClaimBatchId,
        job_id: Option<JobId>,
        integration_id: Option<IntegrationId>,
        deduplication_id: Option<String>,
        assignment_id: Option<AssignmentId>,
    }
    let mut transaction = pool.begin().await?;
    // A statement of its own: the next one sees what the lock's last holder committed.
    sqlx::query("select pg_advisory_xact_lock(4711, 1)").execute(&mut *transaction).await?;
    let rows = sqlx::query_as!(
        Row,
        r#"
        select b.id as "batch_id: ClaimBatchId", j.id as "job_id?: JobId", j.integration_id as "integration_id?: IntegrationId",
            j.deduplication_id as "deduplication_id?", j.assignment_id as "assignment_id?: AssignmentId"
        from headgate.claim_batches b
        left join lateral (
            select j.id, j.integration_id, j.deduplication_id, j.assignment_id
            from headgate.jobs j where j.id = any (b.job_ids) and j.status = 1 and j.worker_id = b.worker_id
        ) j on true
        where b.worker_id = $1 and b.id <> all ($2)
        "#,
        worker_id.0,
        known as &[ClaimBatchId],
    )
    .fetch_all(&mut *transaction)
    .await?;
    transaction.commit().await?;
    if rows.is_empty() {
        return Ok(0);
    }
    let batches: Vec<ClaimBatchId> = rows.iter().map(|row| row.batch_id).collect();
    let ends: Vec<End> = rows
        .into_iter()
        .filter_map(|row| {
            Some(End {
                job_id: row.job_id?,
                integration_id: row.integration_id?,
                deduplication_id: row.deduplication_id,
                // Only a final end moves the key on.
                serialize_key: None,
                assignment_id: row.assignment_id?,
                duration: Duration::ZERO,
                ending: Ending::Released { until: DateTime::UNIX_EPOCH },
                is_doubtful: false,
            })
        })
        .collect();
    let mut transaction = pool.begin().await?;
    finish(&mut transaction, &ends).await?;
    sqlx::query!("delete from headgate.claim_batches where id = any ($1)", &batches as &[ClaimBatchId])
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await?;
    Ok(ends.len())
}
