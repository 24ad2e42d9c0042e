//! What is accepted.

use chrono::{DateTime, Utc};
use model::id::{AppId, BatchId, IntegrationId};
use model::trace::TraceContext;
use serde_json::Value;

/// A job to be accepted. Integration, app and batch have been looked up and belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct JobSpec {
    pub app_id: AppId,
    pub integration_id: IntegrationId,
    /// Its type; for a record's change the type of the event.
    pub job_type: String,
    pub payload: Option<Value>,
    /// Type and id of the record, for a record's change.
    pub record: Option<(String, String)>,
    /// One live job per integration and id: a further one folds into it.
    pub deduplication_id: Option<String>,
    /// Jobs of one key run one at a time, in the order of acceptance.
    pub serialize_key: Option<String>,
    pub correlation_id: String,
    pub trace: Option<TraceContext>,
    pub batch_id: Option<BatchId>,
    /// -100 to 100, higher first.
    pub priority: i16,
    /// It runs at this time or later; none: now.
    pub run_at: Option<DateTime<Utc>>,
    /// Debouncing: each change that is folded in moves `run_at` to its own, never beyond this time.
    pub gathers_until: Option<DateTime<Utc>>,
    /// It is cancelled if it still waits at this time, whatever it waits for.
    pub expires_at: Option<DateTime<Utc>>,
    /// 1 to 100.
    pub max_attempts: i16,
    /// Timeout of one attempt; none: the engine's default.
    pub timeout_ms: Option<i32>,
    /// Whether everything is to be sent, not the difference.
    pub is_full: bool,
}
