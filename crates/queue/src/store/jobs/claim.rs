//! Claims: the Rust side of the SQL function `claim_jobs` (migration 0003 says how it decides).

use crate::error::QueueError;
use chrono::{DateTime, Utc};
use model::id::{AppId, AssignmentId, BatchId, ClaimBatchId, IntegrationId, JobId, WorkerId};
use serde_json::Value;
use sqlx::{PgConnection, PgPool};
use std::collections::HashMap;

/// A job this process holds now.
#[derive(Clone, Debug)]
pub struct ClaimedJob {
    /// The round trip it came with.
    pub claim_batch_id: ClaimBatchId,
    /// Which job.
    pub id: JobId,
    /// Whose.
    pub app_id: AppId,
    /// For which integration.
    pub integration_id: IntegrationId,
    /// The batch it is an item of.
    pub batch_id: Option<BatchId>,
    /// The lease.
    pub assignment_id: AssignmentId,
    /// When it was accepted.
    pub created_at: DateTime<Utc>,
    /// Not before then.
    pub run_at: DateTime<Utc>,
    /// Whether it was claimed after `expires_at`: it is called off instead of run.
    pub is_expired: bool,
    /// Whether its integration has rate limits.
    pub is_limited: bool,
    /// Whether its integration's circuit breaker was not closed when it was claimed: what comes of it is told at once.
    pub is_probe: bool,
    /// Begin of this attempt.
    pub started_at: DateTime<Utc>,
    /// Time one attempt may take, if the job says.
    pub timeout_ms: Option<i32>,
    /// This attempt.
    pub attempt: i16,
    /// The last one.
    pub max_attempts: i16,
    /// Whether an attempt before this one vanished with its worker.
    pub may_have_arrived: bool,
    /// Whether everything is to be sent.
    pub is_full: bool,
    /// What kind of job.
    pub job_type: String,
    /// Of a record's change.
    pub record_type: Option<String>,
    /// Of a record's change.
    pub record_id: Option<String>,
    /// One live job per integration and id.
    pub deduplication_id: Option<String>,
    /// Jobs of one key run one at a time.
    pub serialize_key: Option<String>,
    /// Ties together what belongs together.
    pub correlation_id: String,
    /// What the job was made with.
    pub payload: Option<Value>,
}

impl ClaimedJob {
    /// Type and id of the record, of a record's change.
    #[must_use]
    pub fn record(&self) -> Option<(String, String)> {
        self.record_type.clone().zip(self.record_id.clone())
    }
}

/// What a claimer asks for.
#[derive(Clone, Debug)]
pub struct Claims {
    /// Who asks.
    pub worker_id: WorkerId,
    /// How many at most.
    pub wanted: usize,
    /// The most this process may hold of one integration while others wait.
    pub lane_cap: usize,
    /// What it holds already.
    pub busy: HashMap<IntegrationId, usize>,
}

/// Claims jobs: urgent first, then fair over integrations, then by age.
///
/// # Errors
/// When the database is away.
pub async fn claim(pool: &PgPool, claims: &Claims) -> Result<Vec<ClaimedJob>, QueueError> {
    let mut connection = pool.acquire().await?;
    claim_on(&mut connection, claims).await
}

async fn claim_on(connection: &mut PgConnection, claims: &Claims) -> Result<Vec<ClaimedJob>, QueueError> {
    let (lanes, counts): (Vec<IntegrationId>, Vec<i32>) =
        claims.busy.iter().map(|(lane, count)| (*lane, clamp(*count))).unzip();
    let jobs = sqlx::query_as!(
        ClaimedJob,
        r#"
        select claim_batch_id as "claim_batch_id!: ClaimBatchId", id as "id!: JobId", app_id as "app_id!: AppId",
            integration_id as "integration_id!: IntegrationId", batch_id as "batch_id: BatchId",
            assignment_id as "assignment_id!: AssignmentId", created_at as "created_at!", run_at as "run_at!", is_expired as "is_expired!",
            is_limited as "is_limited!",
            -- Asked once for all rows. As of the beginning of this statement, which may have waited for its turn: an open circuit that became
            -- half-open meanwhile is not closed either.
            integration_id in (select l.integration_id from headgate.lanes l where l.breaker_cap is not null) as "is_probe!", started_at as "started_at!", timeout_ms, attempt as "attempt!",
            max_attempts as "max_attempts!", may_have_arrived as "may_have_arrived!", is_full as "is_full!", job_type as "job_type!", record_type, record_id,
            deduplication_id, serialize_key, correlation_id as "correlation_id!", payload
        from headgate.claim_jobs($1, $2, $3, $4, $5)
        "#,
        claims.worker_id.0,
        clamp(claims.wanted),
        clamp(claims.lane_cap),
        &lanes as &[IntegrationId],
        &counts,
    )
    .fetch_all(connection)
    .await?;
    // A planner that repeats a limited sub-query once claimed 300 rows for a limit of 5 (RELIABILITY 0.3). The statement is built
    // so that it cannot; if it ever did, the surplus is still held by us and still run, only not within our slots.
    if jobs.len() > claims.wanted {
        tracing::error!(
            wanted = claims.wanted,
            claimed = jobs.len(),
            "a claim took more jobs than it asked for"
        );
    }
    Ok(jobs)
}

fn clamp(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
