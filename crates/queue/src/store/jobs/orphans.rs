//! Jobs a live worker holds without knowing: its claim was committed and the answer was lost with the connection.

use crate::{
    error::QueueError,
    store::jobs::{End, Ending, claim::take_turn, finish, held_elsewhere},
};
use chrono::DateTime;
use model::id::{AssignmentId, ClaimBatchId, IntegrationId, JobId, WorkerId};
use sqlx::PgPool;
use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

/// What a process knows of its own claims.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Batches it got an answer for.
    pub batches: Vec<ClaimBatchId>,
    /// Jobs it runs: never given back, whatever their batch.
    pub running: Vec<AssignmentId>,
    /// Jobs it is done with and could not write the end of, and their batches: given back although their batch is known.
    pub stuck: HashMap<AssignmentId, ClaimBatchId>,
    /// Whether a claim may have failed: it may be under way still, on a connection that broke.
    pub is_claim_open: bool,
}

/// How long all claims of the deployment may be held up by one that asks: three short statements.
const BEGIN: &str = "begin isolation level read committed; set local idle_in_transaction_session_timeout = '2s'; set local lock_timeout = '5s'; \
    set local statement_timeout = '5s'";

/// Gives back what a worker holds without knowing, or cannot end; answers which. No claim of this worker may be under way, but for one
/// whose connection broke: that one is waited for by its turn.
///
/// While all is well this reads the worker's own batches and is in no claim's way. Only what looks wrong is looked at during a turn.
///
/// # Errors
/// When the database is away, or other processes kept it from its turn for five seconds.
pub async fn give_back_unknown(
    pool: &PgPool,
    worker_id: WorkerId,
    known: &Known,
) -> Result<Vec<AssignmentId>, QueueError> {
    struct Row {
        batch_id: ClaimBatchId,
        job_id: Option<JobId>,
        integration_id: Option<IntegrationId>,
        deduplication_id: Option<String>,
        serialize_key: Option<String>,
        assignment_id: Option<AssignmentId>,
    }
    if known.is_claim_open {
        // Whatever is under way has come to its end when its turn has. (But for one whose message the network still keeps: the next look finds
        // what that took.)
        let mut transaction = pool.begin_with(BEGIN).await?;
        take_turn(&mut transaction).await?;
        transaction.rollback().await?;
    }
    let suspects = suspects(pool, worker_id, known).await?;
    if suspects.is_empty() {
        return Ok(Vec::new());
    }
    let stuck: Vec<AssignmentId> = known.stuck.keys().copied().collect();
    let mut transaction = pool.begin_with(BEGIN).await?;
    // A statement of its own: the next one sees what the lock's last holder committed.
    take_turn(&mut transaction).await?;
    let rows = sqlx::query_as!(
        Row,
        r#"
        select b.id as "batch_id: ClaimBatchId", j.id as "job_id?: JobId", j.integration_id as "integration_id?: IntegrationId",
            j.deduplication_id as "deduplication_id?", j.serialize_key as "serialize_key?", j.assignment_id as "assignment_id?: AssignmentId"
        from headgate.claim_batches b
        left join lateral (
            select j.id, j.integration_id, j.deduplication_id, j.serialize_key, j.assignment_id
            from headgate.jobs j
            where j.id = any (b.job_ids) and j.status = 1 and j.worker_id = b.worker_id and j.assignment_id <> all ($4)
        ) j on true
        where b.id = any ($5) and b.worker_id = $1 and (b.id <> all ($2) or j.assignment_id = any ($3))
        "#,
        worker_id.0,
        &known.batches as &[ClaimBatchId],
        &stuck as &[AssignmentId],
        &known.running as &[AssignmentId],
        &suspects as &[ClaimBatchId],
    )
    .fetch_all(&mut *transaction)
    .await?;
    transaction.commit().await?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let batches: Vec<ClaimBatchId> =
        rows.iter().map(|row| row.batch_id).filter(|id| !known.batches.contains(id)).collect();
    // A job that failed and was claimed again stands in two batches: it ends once.
    let mut met = HashSet::new();
    let ends: Vec<End> = rows
        .into_iter()
        .filter_map(|row| {
            let assignment_id = row.assignment_id.filter(|id| met.insert(*id))?;
            Some(End {
                job_id: row.job_id?,
                integration_id: row.integration_id?,
                deduplication_id: row.deduplication_id,
                // One that was called off meanwhile ends here and moves its key on.
                serialize_key: row.serialize_key,
                assignment_id,
                duration: Duration::ZERO,
                ending: Ending::Released { until: DateTime::UNIX_EPOCH },
                // One whose claim was never answered was never begun.
                is_doubtful: known.stuck.contains_key(&assignment_id),
            })
        })
        .collect();
    let mut transaction = pool.begin_with(BEGIN).await?;
    // What a producer holds right now is given back the next time: the claimer waits for us.
    let held = held_elsewhere(&mut transaction, &ends).await?;
    let (kept, ends): (Vec<_>, Vec<_>) = ends.into_iter().enumerate().partition(|(at, _)| held.contains(at));
    let ends: Vec<End> = ends.into_iter().map(|(_, end)| end).collect();
    finish(&mut transaction, &ends).await?;
    let kept: Vec<JobId> = kept.into_iter().map(|(_, end)| end.job_id).collect();
    sqlx::query!(
        "delete from headgate.claim_batches where id = any ($1) and not job_ids && $2",
        &batches as &[ClaimBatchId],
        &kept as &[JobId],
    )
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(ends.into_iter().map(|end| end.assignment_id).collect())
}

/// Batches that something may be wrong with: those nobody here knows, and those of jobs that cannot be ended.
async fn suspects(
    pool: &PgPool,
    worker_id: WorkerId,
    known: &Known,
) -> Result<Vec<ClaimBatchId>, QueueError> {
    let mut suspects = sqlx::query_scalar!(
        r#"select id as "id: ClaimBatchId" from headgate.claim_batches where worker_id = $1 and id <> all ($2)"#,
        worker_id.0,
        &known.batches as &[ClaimBatchId],
    )
    .fetch_all(pool)
    .await?;
    suspects.extend(known.stuck.values());
    Ok(suspects)
}
