//! Jobs that a live worker has under a lease without knowing: its claim was committed, but the answer was lost with the connection.

use crate::error::Result;
use crate::store::jobs::claim::take::take_turn;
use crate::store::jobs::{AttemptEnd, Ending, finish, locked_elsewhere};
use chrono::DateTime;
use model::id::{AssignmentId, ClaimBatchId, IntegrationId, JobId, WorkerId};
use sqlx::PgPool;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// What a process knows of its own claims.
#[derive(Clone, Debug, Default)]
pub struct OwnClaims {
    /// Claims it got an answer for.
    pub batches: Vec<ClaimBatchId>,
    /// Jobs it runs: they are never released, whatever claim they are from.
    pub running: Vec<AssignmentId>,
    /// Jobs it is done with and whose end it could not write, with their claims: they are released although the claim is known.
    pub stuck: HashMap<AssignmentId, ClaimBatchId>,
    /// Whether a claim may have failed: it may still be under way, on a connection that broke.
    pub is_claim_open: bool,
}

/// Such a transaction, three short statements, takes the turn of the claims: the timeouts bound how long it may delay all claims of the deployment.
const BEGIN: &str = "begin isolation level read committed; set local idle_in_transaction_session_timeout = '2s'; set local lock_timeout = '5s'; \
    set local statement_timeout = '5s'";

/// Releases jobs that a worker has without knowing, or cannot end; returns which. No claim of this worker may be under way, except one whose
/// connection broke: taking the turn waits for that one.
///
/// Normally this only reads the worker's own claims and delays no other claim. Only claims that look wrong are checked during a turn.
///
/// # Errors
/// When other processes kept it from its turn for five seconds.
pub async fn release_orphans(
    pool: &PgPool,
    worker_id: WorkerId,
    known: &OwnClaims,
) -> Result<Vec<AssignmentId>> {
    struct Row {
        batch_id: ClaimBatchId,
        job_id: Option<JobId>,
        integration_id: Option<IntegrationId>,
        deduplication_id: Option<String>,
        serialize_key: Option<String>,
        assignment_id: Option<AssignmentId>,
    }
    if known.is_claim_open {
        // A claim under way has ended when we get the turn. (One whose message is still in the network has not: the next call finds what it took.)
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
    // A statement of its own: the next one sees what the last owner of the lock committed.
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
    // A job that failed and was claimed again is listed in two claims: it ends once.
    let mut seen = HashSet::new();
    let ends: Vec<AttemptEnd> = rows
        .into_iter()
        .filter_map(|row| {
            let assignment_id = row.assignment_id.filter(|id| seen.insert(*id))?;
            Some(AttemptEnd {
                job_id: row.job_id?,
                integration_id: row.integration_id?,
                deduplication_id: row.deduplication_id,
                // A job that was cancelled meanwhile ends here and advances its key.
                serialize_key: row.serialize_key,
                assignment_id,
                duration: Duration::ZERO,
                ending: Ending::Released { until: DateTime::UNIX_EPOCH },
                // A job whose claim was never answered has never begun.
                is_uncertain: known.stuck.contains_key(&assignment_id),
            })
        })
        .collect();
    let mut transaction = pool.begin_with(BEGIN).await?;
    // Jobs that a producer has locked are released the next time, because the claimer waits for this call.
    let locked = locked_elsewhere(&mut transaction, &ends).await?;
    let (kept, ends): (Vec<_>, Vec<_>) =
        ends.into_iter().enumerate().partition(|(at, _)| locked.contains(at));
    let ends: Vec<AttemptEnd> = ends.into_iter().map(|(_, end)| end).collect();
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

/// Claims that may have jobs to release: those this process does not know, and those of jobs that cannot be ended.
async fn suspects(pool: &PgPool, worker_id: WorkerId, known: &OwnClaims) -> Result<Vec<ClaimBatchId>> {
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
