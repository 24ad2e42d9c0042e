//! Jobs: one unit of work for one integration.

use crate::{
    attempt::Attempt,
    id::{AppId, BatchId, IntegrationId, JobId},
    integration::KEY,
    integration::{IntegrationType, is_key},
    json, limits, moment,
    problem::Faults,
    record::EventType,
    rules::verdict::ErrorKind,
    trace::TraceContext,
};
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where a job stands. Each change is one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum JobStatus {
    /// Waits for its first attempt; a claim moves it on.
    Pending,
    /// Held by a worker; its result, or the sweep when the lease is lost, moves it on.
    Processing,
    /// Waits for another attempt; the clock moves it on.
    ToBeRetried,
    /// To be retried, and its time has come: a claim moves it on. Shown, never stored.
    Retrying,
    /// Done. Final.
    Completed,
    /// A dead letter; only a requeue moves it on.
    Failed,
    /// Called off. Final.
    Cancelled,
}

impl JobStatus {
    /// All, in the order of a job's life.
    pub const ALL: [Self; 7] = [
        Self::Pending,
        Self::Processing,
        Self::ToBeRetried,
        Self::Retrying,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// As it is written on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Processing => "processing",
            Self::ToBeRetried => "to_be_retried",
            Self::Retrying => "retrying",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
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

    /// The status behind a row's code and retry time.
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

    /// Whether the job has a row among the live ones.
    #[must_use]
    pub fn is_live(self) -> bool {
        matches!(self, Self::Pending | Self::Processing | Self::ToBeRetried | Self::Retrying)
    }
}

impl std::str::FromStr for JobStatus {
    type Err = UnknownStatus;
    fn from_str(text: &str) -> Result<Self, UnknownStatus> {
        Self::ALL.into_iter().find(|status| status.as_str() == text).ok_or(UnknownStatus)
    }
}

/// A status that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be pending, processing, to_be_retried, retrying, completed, failed or cancelled")]
pub struct UnknownStatus;

/// One unit of work for one integration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Job {
    /// UUIDv7; the same over all attempts and requeues, and the `webhook-id` of every request.
    pub id: JobId,
    /// Whose it is.
    pub app_id: AppId,
    /// For which integration.
    pub integration_id: IntegrationId,
    /// That integration's type.
    pub integration_type: IntegrationType,
    /// For a record's change, the type of the most urgent event folded into it.
    pub job_type: String,
    /// Where it stands.
    pub status: JobStatus,
    /// -100 to 100, higher first.
    pub priority: i16,
    /// What `POST /jobs` gave; null for a record's change, whose payload is computed when it is sent.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub payload: Option<Value>,
    /// Of a record's change.
    pub record_type: Option<String>,
    /// Of a record's change.
    pub record_id: Option<String>,
    /// One live job per integration and id.
    pub deduplication_id: Option<String>,
    /// Jobs of one key run one at a time, in order.
    pub serialize_key: Option<String>,
    /// Ties together what belongs together: that of the call that made it.
    pub correlation_id: String,
    /// This one and those of the changes that were folded into it, the newest last: the last 20. What is sent bears the newest
    /// (`x-correlation-id`), and the job is found by each.
    #[serde(default)]
    pub correlation_ids: Vec<String>,
    /// How many there were before those 20.
    #[serde(default)]
    pub earlier_correlations: i32,
    /// The batch it is an item of.
    pub batch_id: Option<BatchId>,
    /// Attempts begun.
    pub attempt: i16,
    /// Attempts it may have.
    pub max_attempts: i16,
    /// Not before then.
    pub run_at: DateTime<Utc>,
    /// Of a pending job that gathers changes until its record is quiet (`debounce` of its integration): each puts `run_at` off, never beyond
    /// this. Null otherwise, and once an urgent change was folded in.
    #[serde(default)]
    pub gathers_until: Option<DateTime<Utc>>,
    /// Next attempt of a job that is to be retried.
    pub retry_at: Option<DateTime<Utc>>,
    /// A job that waits then, for its first attempt or another one, ends as `cancelled` with the `error_kind` `expired`: within some two
    /// seconds, also while its integration is paused, limited or broken. An attempt that runs then is not stopped.
    pub expires_at: Option<DateTime<Utc>>,
    /// Begin of the last attempt.
    pub started_at: Option<DateTime<Utc>>,
    /// Of a job that is being processed: when someone asked to call it off. Its worker was told to stop and has not let go of it yet: until
    /// then it stays `processing`, and no other job of its deduplication id or serialize key begins. It ends as `cancelled`, or as
    /// `completed` if it was done by then. Null otherwise.
    #[serde(default)]
    pub cancel_requested_at: Option<DateTime<Utc>>,
    /// Set when completed.
    pub completed_at: Option<DateTime<Utc>>,
    /// Set when it became a dead letter.
    pub failed_at: Option<DateTime<Utc>>,
    /// Set when called off.
    pub cancelled_at: Option<DateTime<Utc>>,
    /// When it was accepted.
    pub created_at: DateTime<Utc>,
    /// Of the last failed attempt.
    pub error_kind: Option<ErrorKind>,
    /// Of the last failed attempt.
    pub error_message: Option<String>,
    /// Of a finished job: `sent`, `unchanged`, `done`, or why it was called off.
    pub outcome: Option<String>,
    /// Further changes folded into it.
    pub folded: i32,
}

impl Job {
    /// What its next request bears as `x-correlation-id`.
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
    /// Every attempt that has ended, and the one that runs.
    pub attempts: Vec<Attempt>,
    /// Of a job that is processed: how far it is, when its handler says so; written once a second at most.
    #[serde(default)]
    pub progress: Option<Progress>,
    /// The changes that were folded into it, oldest first: the last 20 of the `folded` there were. Empty also of jobs that are older than
    /// this list.
    #[serde(default)]
    pub twins: Vec<Twin>,
    /// Of a completed job: what its handler, or its external worker, answered. Up to 1 MB; kept as long as the job.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub result: Option<Value>,
}

/// A change that was folded into a job which waited already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Twin {
    /// What happened to the record; null of a job that is about no record.
    pub kind: Option<EventType>,
    /// When it was accepted, to the millisecond.
    pub at: DateTime<Utc>,
}

impl Twin {
    /// Reads what the database's `headgate.twin` packs into eight bytes: sixteen times the milliseconds since 1970, and the place of the
    /// kind in [`EventType::ALL`], 1 for the first, 0 for any other.
    #[must_use]
    pub fn unpack(packed: i64) -> Option<Self> {
        let at = DateTime::from_timestamp_millis(packed.div_euclid(16))?;
        let place = usize::try_from(packed.rem_euclid(16)).ok()?;
        Some(Self { kind: place.checked_sub(1).and_then(|at| EventType::ALL.get(at)).copied(), at })
    }
}

/// A job in the line of a serialize key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyNeighbour {
    /// The job.
    pub id: JobId,
    /// Where it stands.
    pub status: JobStatus,
    /// What kind of job.
    pub job_type: String,
}

/// How far an attempt is, as its handler says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Progress {
    /// Of `total`; whatever the handler counts.
    pub done: i64,
    /// Null when it does not know.
    pub total: Option<i64>,
    /// What it is at, for people: up to 200 characters.
    pub note: Option<String>,
    /// When it said so.
    pub at: DateTime<Utc>,
}

impl Progress {
    /// The part that is done, 0 to 1; none when the total is not known.
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
    /// For which integration; or `app_id` alone for the app's built-in one.
    #[serde(default)]
    pub integration_id: Option<IntegrationId>,
    /// Whose it is.
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
    /// When it waits then, it ends as `cancelled` with the `error_kind` `expired`. After `run_at`, and at most five minutes ago. Default: never.
    #[serde(default, deserialize_with = "moment::optional")]
    pub expires_at: Option<DateTime<Utc>>,
    /// 1 to 100.
    #[serde(default)]
    pub max_attempts: Option<i16>,
    /// 100 to 3,600,000.
    #[serde(default)]
    pub timeout_ms: Option<i32>,
    /// 1 to 255 characters; made when absent.
    #[serde(default)]
    pub correlation_id: Option<String>,
    /// A batch of the same app.
    #[serde(default)]
    pub batch_id: Option<BatchId>,
    /// That of the request it came with.
    #[serde(skip)]
    pub trace: Option<TraceContext>,
}

/// A job may come this late after its `expires_at`, which then ends it as any that waited too long; beyond, the time is a mistake.
const LATE: TimeDelta = TimeDelta::minutes(5);

impl NewJob {
    /// What is wrong with its times when it is accepted now; [`check`](Self::check) asks no clock.
    ///
    /// # Errors
    /// An `expires_at` that passed over five minutes ago.
    pub fn check_at(&self, now: DateTime<Utc>) -> Result<(), Faults> {
        let mut faults = Faults::default();
        faults.require(
            self.expires_at.is_none_or(|at| now - at <= LATE),
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
        for (place, value) in [
            ("/deduplication_id", &self.deduplication_id),
            ("/serialize_key", &self.serialize_key),
            ("/correlation_id", &self.correlation_id),
        ] {
            faults.require(value.as_deref().is_none_or(is_key), place, KEY);
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

/// What became of one accepted job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EnqueuedJob {
    /// The job that will do the work.
    pub id: JobId,
    /// Whether it is a new one.
    pub outcome: EnqueueOutcome,
}

/// Whether a job was made or folded into one that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum EnqueueOutcome {
    /// A new job.
    Created,
    /// Folded into the job of the same deduplication id.
    Coalesced,
}

/// The order inside a lane, lower first: urgent kinds below zero, everything else above, each by its priority.
#[must_use]
pub fn rank(job_type: &str, priority: i16) -> i16 {
    let is_urgent = job_type.parse::<EventType>().is_ok_and(EventType::is_urgent);
    if is_urgent { -1000 - priority } else { 200 - priority }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_known_with_the_total_and_never_beyond_the_whole() {
        let share = |done, total| Progress { done, total, note: None, at: DateTime::UNIX_EPOCH }.share();
        assert_eq!(share(1, Some(4)), Some(0.25));
        assert_eq!((share(9, Some(4)), share(9, None), share(9, Some(0))), (Some(1.0), None, None));
    }

    #[test]
    fn urgent_kinds_go_before_any_priority() {
        assert!(rank("attribute.update", -100) < rank("record.updated", 100));
        assert!(rank("record.updated", 5) < rank("record.updated", 0));
        assert!(rank("attribute.update", -100) < 0 && rank("x", 100) > 0);
    }

    #[test]
    fn a_retry_whose_time_has_come_shows_as_retrying() {
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
