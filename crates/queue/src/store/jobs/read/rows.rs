//! Columns of a job as lists and look-ups read them, for each part: live, successor, finished, dead.

use crate::store::jobs::Part;
use chrono::{DateTime, Utc};
use model::id::{AppId, BatchId, IntegrationId, JobId};
use model::integration::IntegrationType;
use model::job::{Job, JobStatus};
use model::rules::verdict::ErrorKind;
use serde_json::Value;

#[derive(Clone, Debug, sqlx::FromRow)]
pub struct JobRow {
    pub id: JobId,
    pub app_id: AppId,
    pub integration_id: IntegrationId,
    pub integration_type: String,
    pub job_type: String,
    pub status: i16,
    pub priority: i16,
    pub payload: Option<Value>,
    pub record_type: Option<String>,
    pub record_id: Option<String>,
    pub deduplication_id: Option<String>,
    pub serialize_key: Option<String>,
    pub correlation_id: String,
    pub correlation_ids: Option<Vec<String>>,
    pub earlier_correlations: Option<i32>,
    pub batch_id: Option<BatchId>,
    pub attempt: i16,
    pub max_attempts: i16,
    pub run_at: DateTime<Utc>,
    pub gathers_until: Option<DateTime<Utc>>,
    pub retry_at: Option<DateTime<Utc>>,
    pub expires_at: Option<DateTime<Utc>>,
    pub started_at: Option<DateTime<Utc>>,
    pub cancel_requested_at: Option<DateTime<Utc>>,
    /// When a finished or dead job came to its end.
    pub ended_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    pub error_kind: Option<String>,
    pub error_message: Option<String>,
    pub outcome: Option<String>,
    pub folded: i32,
    /// The database's clock when the row was read: what `retrying` is judged by.
    pub now: DateTime<Utc>,
}

/// Columns of every part. The integration's type is a sub-query, which runs for returned rows only: a join would run for all scanned ones.
const EVERYWHERE: &str = "j.app_id, j.integration_id, \
     coalesce((select i.integration_type from headgate.integrations i where i.id = j.integration_id), 'webhook') as integration_type";

/// Columns of `jobs j`.
const LIVE: &str = "j.id, j.job_type, j.status, j.priority, j.payload, j.record_type, j.record_id, j.deduplication_id, j.serialize_key, \
     j.correlation_id, j.correlation_ids, j.earlier_correlations, j.batch_id, j.attempt, j.max_attempts, j.run_at, case when j.status = 0 then j.gathers_until end as gathers_until, j.retry_at, j.expires_at, j.started_at, \
     case when j.cancel_requested_of = j.assignment_id then j.cancel_requested_at end as cancel_requested_at, \
     null::timestamptz as ended_at, j.created_at, j.error_kind, j.error_message, null::text as outcome, j.folded, \
     clock_timestamp() as now";

/// Columns of successors: pending jobs in the JSON of a row of `jobs j`.
const SUCCESSORS: &str = "(j.successor ->> 'id')::uuid as id, j.successor ->> 'job_type' as job_type, 0::smallint as status, \
     (j.successor ->> 'priority')::smallint as priority, nullif(j.successor -> 'payload', 'null') as payload, j.record_type, \
     j.record_id, j.deduplication_id, j.successor ->> 'serialize_key' as serialize_key, \
     j.successor ->> 'correlation_id' as correlation_id, headgate.correlation_ids_of(j.successor) as correlation_ids, \
     (j.successor ->> 'earlier_correlations')::int as earlier_correlations, (j.successor ->> 'batch_id')::uuid as batch_id, 0::smallint as attempt, \
     (j.successor ->> 'max_attempts')::smallint as max_attempts, (j.successor ->> 'run_at')::timestamptz as run_at, (j.successor ->> 'gathers_until')::timestamptz as gathers_until, \
     null::timestamptz as retry_at, (j.successor ->> 'expires_at')::timestamptz as expires_at, null::timestamptz as started_at, \
     null::timestamptz as cancel_requested_at, null::timestamptz as ended_at, (j.successor ->> 'created_at')::timestamptz as created_at, null::text as error_kind, \
     null::text as error_message, null::text as outcome, (j.successor ->> 'folded')::int as folded, clock_timestamp() as now";

/// Columns of `finished_jobs j`. The rows outlive a deleted app until retention drops their day, and are in no list then; those of a deleted
/// integration still belong to their app.
const FINISHED: &str = "j.id, j.job_type, j.status, j.priority, j.payload, j.record_type, j.record_id, j.deduplication_id, j.serialize_key, \
     j.correlation_id, j.correlation_ids, j.earlier_correlations, j.batch_id, j.attempt, j.max_attempts, j.run_at, null::timestamptz as gathers_until, null::timestamptz as retry_at, j.expires_at, \
     j.started_at, null::timestamptz as cancel_requested_at, j.finished_at as ended_at, j.created_at, null::text as error_kind, null::text as error_message, \
     j.outcome, j.folded, clock_timestamp() as now";

/// Columns of `dead_letter_jobs j`.
const DEAD: &str = "j.job_id as id, j.job_type, 5::smallint as status, j.priority, j.payload, j.record_type, j.record_id, j.deduplication_id, \
     j.serialize_key, j.correlation_id, j.correlation_ids, j.earlier_correlations, j.batch_id, j.attempt, j.max_attempts, j.run_at, null::timestamptz as gathers_until, null::timestamptz as retry_at, \
     j.expires_at, j.started_at, null::timestamptz as cancel_requested_at, j.failed_at as ended_at, j.created_at, j.error_kind, j.error_message, null::text as outcome, \
     j.folded, clock_timestamp() as now";

/// The select of a part; conditions are appended to it.
pub fn select(part: Part) -> String {
    format!("{} from {}{}", columns(part), part.table(), within(part))
}

/// `select …`, up to `from`.
pub fn columns(part: Part) -> String {
    let own = match part {
        Part::Live | Part::Failing => LIVE,
        Part::Successors => SUCCESSORS,
        Part::Finished => FINISHED,
        Part::Dead => DEAD,
    };
    format!("select {EVERYWHERE}, {own}")
}

/// The same without the payload, which may have a megabyte.
pub fn columns_without_payload(part: Part) -> String {
    let none = "null::jsonb as payload";
    columns(part)
        .replace("nullif(j.successor -> 'payload', 'null') as payload", none)
        .replace("j.payload,", &format!("{none},"))
}

fn within(part: Part) -> &'static str {
    if part == Part::Successors { " where j.successor is not null" } else { " where true" }
}

impl From<JobRow> for Job {
    fn from(row: JobRow) -> Self {
        let status = JobStatus::from_code(row.status, row.retry_at, row.now);
        let ended = |wanted: JobStatus| row.ended_at.filter(|_| status == wanted);
        // A finished row has no error: its outcome says why it was cancelled.
        let is_expired = status == JobStatus::Cancelled && row.outcome.as_deref() == Some("expired");
        let error_kind = if is_expired {
            Some(ErrorKind::Expired)
        } else {
            row.error_kind.and_then(|kind| kind.parse().ok())
        };
        Self {
            id: row.id,
            app_id: row.app_id,
            integration_id: row.integration_id,
            integration_type: row.integration_type.parse().unwrap_or(IntegrationType::Webhook),
            job_type: row.job_type,
            status,
            priority: row.priority,
            payload: row.payload,
            record_type: row.record_type,
            record_id: row.record_id,
            deduplication_id: row.deduplication_id,
            serialize_key: row.serialize_key,
            correlation_ids: row.correlation_ids.unwrap_or_else(|| vec![row.correlation_id.clone()]),
            earlier_correlations: row.earlier_correlations.unwrap_or_default(),
            correlation_id: row.correlation_id,
            batch_id: row.batch_id,
            attempt: row.attempt,
            max_attempts: row.max_attempts,
            run_at: row.run_at,
            gathers_until: row.gathers_until,
            retry_at: row.retry_at,
            expires_at: row.expires_at,
            started_at: row.started_at,
            cancel_requested_at: row.cancel_requested_at,
            completed_at: ended(JobStatus::Completed),
            failed_at: ended(JobStatus::Failed),
            cancelled_at: ended(JobStatus::Cancelled),
            created_at: row.created_at,
            error_kind,
            error_message: row.error_message,
            outcome: row.outcome,
            folded: row.folded,
        }
    }
}
