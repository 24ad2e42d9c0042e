//! What a claim returns.

use crate::error::Result;
use chrono::{DateTime, Utc};
use model::id::{AppId, AssignmentId, BatchId, ClaimBatchId, IntegrationId, JobId};
use model::trace::TraceContext;
use serde_json::Value;
use sqlx::{Decode, Postgres, Row as _, Type, postgres::PgRow};

/// The rows of a claim, undecoded: decoding 2,000 takes milliseconds, in which the next claim can already run.
#[derive(Debug)]
pub struct Claimed {
    pub(crate) batch_id: ClaimBatchId,
    pub(crate) rows: Vec<PgRow>,
}

impl Claimed {
    /// The claim they came with.
    #[must_use]
    pub const fn batch_id(&self) -> ClaimBatchId {
        self.batch_id
    }

    /// How many jobs.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there was nothing to claim.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The leases, with the integrations whose slots they take.
    ///
    /// # Errors
    /// When a column has another type than expected.
    pub fn leases(&self) -> Result<Vec<(AssignmentId, IntegrationId)>> {
        self.rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
    }

    /// The jobs, in the order in which they are begun.
    ///
    /// # Errors
    /// When a column has another type than expected.
    pub fn jobs(self) -> Result<Vec<ClaimedJob>> {
        let mut jobs: Vec<ClaimedJob> =
            self.rows.iter().map(|row| ClaimedJob::read(row, self.batch_id)).collect::<Result<_, _>>()?;
        jobs.sort_by_key(|job| (job.rank, job.created_at, job.id));
        Ok(jobs)
    }
}

/// A job that this process has under a lease.
#[derive(Clone, Debug)]
pub struct ClaimedJob {
    pub claim_batch_id: ClaimBatchId,
    pub id: JobId,
    pub app_id: AppId,
    pub integration_id: IntegrationId,
    pub batch_id: Option<BatchId>,
    pub assignment_id: AssignmentId,
    /// When it was accepted.
    pub created_at: DateTime<Utc>,
    /// Since when it could have begun: when it was accepted, or the later time it was to wait for.
    pub run_at: DateTime<Utc>,
    /// Lower goes first (`model::job::rank`).
    pub rank: i16,
    /// Whether its integration's circuit breaker was not closed when it was claimed: its result is reported at once.
    pub is_probe: bool,
    /// Whether it was claimed after `expires_at`: it is cancelled instead of run.
    pub is_expired: bool,
    /// Whether its integration has rate limits.
    pub is_limited: bool,
    /// Begin of this attempt.
    pub started_at: DateTime<Utc>,
    /// Timeout of one attempt, if the job has its own.
    pub timeout_ms: Option<i32>,
    /// The number of this attempt, from 1.
    pub attempt: i16,
    /// The number of the last attempt.
    pub max_attempts: i16,
    /// Whether an earlier attempt may have sent something of which no answer was recorded.
    pub may_have_arrived: bool,
    /// Whether everything is to be sent, not the difference.
    pub is_full: bool,
    pub job_type: String,
    pub record_type: Option<String>,
    pub record_id: Option<String>,
    /// At most one live job per integration and id.
    pub deduplication_id: Option<String>,
    /// Jobs of one key run one at a time.
    pub serialize_key: Option<String>,
    /// Correlation id of the newest change.
    pub correlation_id: String,
    pub trace: Option<TraceContext>,
    pub payload: Option<Value>,
}

impl ClaimedJob {
    fn read(row: &PgRow, claim_batch_id: ClaimBatchId) -> Result<Self, sqlx::Error> {
        let mut columns = Columns { row, next: 0 };
        // In the order of the select of `claim_take.sql`: struct fields are evaluated in the order in which they are written here.
        Ok(Self {
            assignment_id: columns.next()?,
            integration_id: columns.next()?,
            id: columns.next()?,
            app_id: columns.next()?,
            batch_id: columns.next()?,
            created_at: columns.next()?,
            run_at: columns.next()?,
            started_at: columns.next()?,
            attempt: columns.next()?,
            is_expired: columns.next()?,
            is_limited: columns.next()?,
            is_probe: columns.next()?,
            timeout_ms: columns.next()?,
            rank: columns.next()?,
            max_attempts: columns.next()?,
            may_have_arrived: columns.next()?,
            is_full: columns.next()?,
            job_type: columns.next()?,
            record_type: columns.next()?,
            record_id: columns.next()?,
            deduplication_id: columns.next()?,
            serialize_key: columns.next()?,
            correlation_id: columns.next()?,
            trace: columns.next::<Option<String>>()?.and_then(|text| text.parse().ok()),
            payload: columns.next()?,
            claim_batch_id,
        })
    }

    /// Type and id of the record, for a record's change.
    #[must_use]
    pub fn record(&self) -> Option<(String, String)> {
        self.record_type.clone().zip(self.record_id.clone())
    }
}

/// Reads a row from left to right.
struct Columns<'r> {
    row: &'r PgRow,
    next: usize,
}

impl<'r> Columns<'r> {
    fn next<T: Decode<'r, Postgres> + Type<Postgres>>(&mut self) -> Result<T, sqlx::Error> {
        let at = self.next;
        self.next += 1;
        self.row.try_get(at)
    }
}
