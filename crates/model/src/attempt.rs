//! Attempts: one try at a job.

use crate::{exchange::Exchange, id::WorkerId, rules::verdict::ErrorKind, unknown_name::UnknownName};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case", parse_err_ty = UnknownName, parse_err_fn = UnknownName::of)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum AttemptOutcome {
    /// Still running.
    Running,
    /// The job completed.
    Completed,
    /// The attempt failed.
    Failed,
    /// It exceeded its time limit.
    TimedOut,
    /// The worker vanished.
    Lost,
    /// It was stopped because its job was cancelled. Not stored: it follows from the job.
    Cancelled,
}

impl AttemptOutcome {
    /// As it is written on the wire and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// One try at a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Attempt {
    /// 1 for the first.
    pub attempt: i16,
    /// Process that ran it.
    pub worker_id: Option<WorkerId>,
    /// Start.
    pub started_at: Option<DateTime<Utc>>,
    /// End; null while it is running.
    pub finished_at: Option<DateTime<Utc>>,
    /// How it ended.
    pub outcome: AttemptOutcome,
    /// Kind of failure.
    pub error_kind: Option<ErrorKind>,
    /// The error as a sentence.
    pub error_message: Option<String>,
    /// HTTP status of the answer, if one came.
    pub response_status: Option<i16>,
    /// The beginning of the answer, up to 2,000 characters, without control characters. At most 64 kB of an answer are read, and only within the
    /// attempt's time limit: a longer one is cut, and its status decides (2xx: completed).
    pub response_excerpt: Option<String>,
    /// From start to verdict.
    pub duration_ms: Option<i32>,
    /// The wait before the next attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_wait_ms: Option<i64>,
    /// Why it was that long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_wait_reason: Option<String>,
    /// Request, head of the answer and timing of a failed attempt by Headgate itself. Absent for attempts that succeeded or were lost, and for those
    /// of external workers. The exchange of a dead letter's last attempt is kept with it, others as long as attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Box<Exchange>>,
}
