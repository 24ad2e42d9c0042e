//! Jobs: one unit of work for one integration.

use crate::attempt::Attempt;
use crate::event::EventType;
use crate::id::{AppId, BatchId, IntegrationId, JobId};
use crate::integration::IntegrationType;
use crate::key::{KEY, is_key};
use crate::problem::Faults;
use crate::rules::verdict::ErrorKind;
use crate::trace::TraceContext;
use crate::unknown_name::UnknownName;
use crate::{json, limits, moment};
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::{EnumString, IntoStaticStr, VariantArray};

/// State of a job. Each change is one transaction.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "snake_case", parse_err_ty = UnknownName, parse_err_fn = UnknownName::of)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum JobStatus {
    /// Waits for its first attempt; a claim moves it on.
    Pending,
    /// Leased by a worker; its result, or recovery when the lease is lost, moves it on.
    Processing,
    /// Waits for the time of its next attempt.
    ToBeRetried,
    /// To be retried, and due: a claim moves it on. Shown, never stored.
    Retrying,
    /// Done. Final.
    Completed,
    /// A dead letter; only a requeue moves it on.
    Failed,
    /// Cancelled. Final.
    Cancelled,
}

impl JobStatus {
    /// All, in the order of a job's life.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// As it is written on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The database's code: live jobs 0 to 2, finished ones 3 and 4, dead letters (in the counters) 5.
    #[must_use]
    pub fn code(self) -> i16 {
        match self {
            Self::Pending => 0,
            Self::Processing => 1,
            Self::ToBeRetried | Self::Retrying => 2,
            Self::Completed => 3,
            Self::Cancelled => 4,
            Self::Failed => 5,
        }
    }

    /// The status of a row's code and retry time.
    #[must_use]
    pub fn from_code(code: i16, retry_at: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Self {
        match code {
            0 => Self::Pending,
            1 => Self::Processing,
            2 if retry_at.is_some_and(|at| at <= now) => Self::Retrying,
            2 => Self::ToBeRetried,
            3 => Self::Completed,
            4 => Self::Cancelled,
            _ => Self::Failed,
        }
    }

    /// Whether the job has a row in the table of live jobs.
    #[must_use]
    pub fn is_live(self) -> bool {
        matches!(self, Self::Pending | Self::Processing | Self::ToBeRetried | Self::Retrying)
    }
}

/// One unit of work for one integration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Job {
    /// UUIDv7; the same for all attempts and requeues, and the `webhook-id` of every request.
    pub id: JobId,
    /// Its app.
    pub app_id: AppId,
    /// Its integration.
    pub integration_id: IntegrationId,
    /// That integration's type.
    pub integration_type: IntegrationType,
    /// For a record's job, the type of the most urgent event folded into it.
    pub job_type: String,
    /// State of the job.
    pub status: JobStatus,
    /// -100 to 100, higher first.
    pub priority: i16,
    /// As given to `POST /jobs`; null for a record's job, whose payload is computed when it is sent.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub payload: Option<Value>,
    /// Record type, of a record's job.
    pub record_type: Option<String>,
    /// Record id, of a record's job.
    pub record_id: Option<String>,
    /// One live job per integration and id.
    pub deduplication_id: Option<String>,
    /// Jobs of one key run one at a time, in order.
    pub serialize_key: Option<String>,
    /// Correlation id of the call that created it.
    pub correlation_id: String,
    /// This one and those of the changes folded into the job, newest last: the last 20. Requests carry the newest (`x-correlation-id`), and the job
    /// is found by any of them.
    #[serde(default)]
    pub correlation_ids: Vec<String>,
    /// Number of ids before those 20.
    #[serde(default)]
    pub earlier_correlations: i32,
    /// Its batch, if any.
    pub batch_id: Option<BatchId>,
    /// Attempts begun.
    pub attempt: i16,
    /// Maximum number of attempts.
    pub max_attempts: i16,
    /// The first attempt begins no earlier.
    pub run_at: DateTime<Utc>,
    /// Of a pending job that gathers changes (`debounce` of its integration): each change postpones `run_at`, but never beyond this. Null otherwise,
    /// and once an urgent change was folded in.
    #[serde(default)]
    pub gathers_until: Option<DateTime<Utc>>,
    /// Next attempt of a job that is to be retried.
    pub retry_at: Option<DateTime<Utc>>,
    /// A job that still waits at this time, for its first or another attempt, ends as `cancelled` with the `error_kind` `expired`, within about two
    /// seconds, even while its integration is paused or limited or its breaker is open. A running attempt is not stopped.
    pub expires_at: Option<DateTime<Utc>>,
    /// Start of the last attempt.
    pub started_at: Option<DateTime<Utc>>,
    /// Of a job that is being processed: when its cancellation was requested. Its worker was told to stop and has not released it yet: until then it
    /// stays `processing`, and no other job of its deduplication id or serialize key begins. It ends as `cancelled`, or as `completed` if it was
    /// done by then. Null otherwise.
    #[serde(default)]
    pub cancel_requested_at: Option<DateTime<Utc>>,
    /// When it completed.
    pub completed_at: Option<DateTime<Utc>>,
    /// When it became a dead letter.
    pub failed_at: Option<DateTime<Utc>>,
    /// When it was cancelled.
    pub cancelled_at: Option<DateTime<Utc>>,
    /// When it was accepted.
    pub created_at: DateTime<Utc>,
    /// Error of the last failed attempt.
    pub error_kind: Option<ErrorKind>,
    /// Error of the last failed attempt, as a sentence.
    pub error_message: Option<String>,
    /// Of a finished job: `sent`, `unchanged`, `done`, or why it was cancelled.
    pub outcome: Option<String>,
    /// Number of further changes folded into it.
    pub folded: i32,
}

impl Job {
    /// The `x-correlation-id` of its next request.
    #[must_use]
    pub fn last_correlation_id(&self) -> &str {
        self.correlation_ids.last().unwrap_or(&self.correlation_id)
    }
}

/// A job with its attempts, oldest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobDetail {
    /// The job.
    #[serde(flatten)]
    pub job: Job,
    /// All finished attempts, and the running one.
    pub attempts: Vec<Attempt>,
    /// Of a job that is being processed: its progress, if its handler reports it; written at most once a second.
    #[serde(default)]
    pub progress: Option<Progress>,
    /// The changes folded into it, oldest first: the last 20 of `folded`.
    #[serde(default)]
    pub twins: Vec<FoldedChange>,
    /// Of a completed job: the result of its handler or external worker. Up to 1 MB; kept as long as the job.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub result: Option<Value>,
}

/// A change that was folded into a waiting job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FoldedChange {
    /// What happened to the record; null if the job has no record.
    pub kind: Option<EventType>,
    /// When it was accepted, to the millisecond.
    pub at: DateTime<Utc>,
}

impl FoldedChange {
    /// Unpacks the eight bytes of the database's `headgate.twin`: sixteen times the milliseconds since 1970, plus the position of the kind in
    /// [`EventType::ALL`] (1 for the first, 0 for any other).
    #[must_use]
    pub fn unpack(packed: i64) -> Option<Self> {
        let at = DateTime::from_timestamp_millis(packed.div_euclid(16))?;
        let kind = usize::try_from(packed.rem_euclid(16)).ok()?;
        Some(Self { kind: kind.checked_sub(1).and_then(|index| EventType::ALL.get(index)).copied(), at })
    }
}

/// Another job of the same serialize key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyNeighbour {
    /// The job.
    pub id: JobId,
    /// State of the job.
    pub status: JobStatus,
    /// Type of the job.
    pub job_type: String,
}

/// Progress of an attempt, as reported by its handler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Progress {
    /// Done so far, in units of the handler.
    pub done: i64,
    /// In the same units; null when it is not known.
    pub total: Option<i64>,
    /// Current step, for people: up to 200 characters.
    pub note: Option<String>,
    /// When it was reported.
    pub at: DateTime<Utc>,
}

impl Progress {
    /// The part that is done, 0 to 1. `None` when the total is not known.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        let total = self.total.filter(|total| *total > 0)?;
        Some((self.done as f64 / total as f64).clamp(0.0, 1.0))
    }
}

/// `POST /jobs`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewJob {
    /// Its integration; or give only `app_id`, for the app's built-in one.
    #[serde(default)]
    pub integration_id: Option<IntegrationId>,
    /// Its app.
    #[serde(default)]
    pub app_id: Option<AppId>,
    /// 1 to 255 characters.
    pub job_type: String,
    /// Any JSON up to 1 MB.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub payload: Option<Value>,
    /// 1 to 255 characters.
    #[serde(default)]
    pub deduplication_id: Option<String>,
    /// 1 to 255 characters.
    #[serde(default)]
    pub serialize_key: Option<String>,
    /// -100 to 100, default 0.
    #[serde(default)]
    pub priority: i16,
    /// Default: now.
    #[serde(default, deserialize_with = "moment::optional")]
    pub run_at: Option<DateTime<Utc>>,
    /// If the job still waits at this time, it ends as `cancelled` with the `error_kind` `expired`. Must be after `run_at`, and at most five minutes
    /// ago. Default: never.
    #[serde(default, deserialize_with = "moment::optional")]
    pub expires_at: Option<DateTime<Utc>>,
    /// 1 to 100.
    #[serde(default)]
    pub max_attempts: Option<i16>,
    /// 100 to 3,600,000.
    #[serde(default)]
    pub timeout_ms: Option<i32>,
    /// 1 to 255 characters; generated when absent.
    #[serde(default)]
    pub correlation_id: Option<String>,
    /// A batch of the same app.
    #[serde(default)]
    pub batch_id: Option<BatchId>,
    /// Trace context of the request.
    #[serde(skip)]
    pub trace: Option<TraceContext>,
}

/// A job may be enqueued so long after its `expires_at`, and then expires like any other. An earlier `expires_at` is a mistake.
const MAX_EXPIRED: TimeDelta = TimeDelta::minutes(5);

impl NewJob {
    /// The part of [`check`](Self::check) that depends on the time.
    ///
    /// # Errors
    /// `expires_at` is more than five minutes ago.
    pub fn check_at(&self, now: DateTime<Utc>) -> Result<(), Faults> {
        let mut faults = Faults::default();
        faults.require(
            self.expires_at.is_none_or(|at| now - at <= MAX_EXPIRED),
            "/expires_at",
            "passed more than 5 minutes ago",
        );
        faults.into_result()
    }

    /// # Errors
    /// Every fault, by field.
    pub fn check(&self) -> Result<(), Faults> {
        let mut faults = Faults::default();
        faults.require(
            self.integration_id.is_some() || self.app_id.is_some(),
            "/integration_id",
            "or app_id is required",
        );
        faults.require(is_key(&self.job_type), "/job_type", KEY);
        for (pointer, value) in [
            ("/deduplication_id", &self.deduplication_id),
            ("/serialize_key", &self.serialize_key),
            ("/correlation_id", &self.correlation_id),
        ] {
            faults.require(value.as_deref().is_none_or(is_key), pointer, KEY);
        }
        faults.require_within(Some(self.priority), &limits::PRIORITY, "/priority");
        faults.require_within(self.max_attempts, &limits::MAX_ATTEMPTS, "/max_attempts");
        faults.require_within(self.timeout_ms, &limits::TIMEOUT_MS, "/timeout_ms");
        faults.require(
            self.run_at.zip(self.expires_at).is_none_or(|(run_at, expires_at)| run_at < expires_at),
            "/expires_at",
            "must be after run_at: it would expire before it could begin",
        );
        if let Some(Err(fault)) = self.payload.as_ref().map(json::check) {
            faults.add(format!("/payload{}", fault.pointer), fault.detail);
        }
        faults.into_result()
    }
}

/// Result of enqueuing a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EnqueuedJob {
    /// The job that will do the work.
    pub id: JobId,
    /// Whether it is new.
    pub outcome: EnqueueOutcome,
}

/// Whether a job was created or folded into one that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum EnqueueOutcome {
    /// A new job.
    Created,
    /// Folded into the waiting job of the same deduplication id.
    Coalesced,
}

/// The order in a lane, lower first: urgent job types are below zero, all others above, each by priority.
#[must_use]
pub fn rank(job_type: &str, priority: i16) -> i16 {
    let is_urgent = job_type.parse::<EventType>().is_ok_and(EventType::is_urgent);
    if is_urgent { -1000 - priority } else { 200 - priority }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_needs_a_total_and_is_at_most_one() {
        let share = |done, total| Progress { done, total, note: None, at: DateTime::UNIX_EPOCH }.share();
        assert_eq!(share(1, Some(4)), Some(0.25));
        assert_eq!((share(9, Some(4)), share(9, None), share(9, Some(0))), (Some(1.0), None, None));
    }

    #[test]
    fn urgent_types_come_before_any_priority() {
        assert!(rank("attribute.update", -100) < rank("record.updated", 100));
        assert!(rank("record.updated", 5) < rank("record.updated", 0));
        assert!(rank("attribute.update", -100) < 0 && rank("x", 100) > 0);
    }

    #[test]
    fn a_due_retry_shows_as_retrying() {
        let now = DateTime::UNIX_EPOCH + chrono::Duration::days(1);
        let second = chrono::Duration::seconds(1);
        for (code, retry_at, status) in [
            (0, None, JobStatus::Pending),
            (1, None, JobStatus::Processing),
            (2, Some(now + second), JobStatus::ToBeRetried),
            (2, Some(now), JobStatus::Retrying),
            (3, None, JobStatus::Completed),
            (4, None, JobStatus::Cancelled),
            (5, None, JobStatus::Failed),
        ] {
            assert_eq!(JobStatus::from_code(code, retry_at, now), status);
        }
    }
}
