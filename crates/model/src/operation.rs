//! Operations: bulk actions, and deletions of apps and integrations.

use crate::filter::JobFilter;
use crate::id::{JobId, OperationId};
use crate::limits;
use crate::problem::Faults;
use crate::unknown_name::UnknownName;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};
use uuid::Uuid;

/// Up to so many jobs are changed at once, without hold and rate.
pub const AT_ONCE: i64 = 100;

/// What is done to each job or dead letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case", parse_err_ty = UnknownName, parse_err_fn = UnknownName::of)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum BulkAction {
    /// Puts it back into the queue with all its attempts.
    Requeue,
    /// Cancels it.
    Cancel,
    /// Moves it to the bin, where it is deleted after 24 hours (dead letters).
    Purge,
    /// Reverts another bulk action: only by `POST /operations/{id}/undo`.
    Undo,
    /// Deletes all remaining rows: only by `DELETE /apps/{id}` and `DELETE /integrations/{id}`.
    Delete,
}

impl BulkAction {
    /// As it is written on the wire and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// What an operation changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case", parse_err_ty = UnknownName, parse_err_fn = UnknownName::of)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum BulkSubject {
    /// Jobs in any state.
    Jobs,
    /// Dead letters.
    DeadLetters,
    /// The remaining rows of a deleted app.
    App,
    /// The remaining rows of a deleted integration.
    Integration,
}

impl BulkSubject {
    /// As it is written on the wire and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// `POST /jobs/bulk` and `POST /dead-letters/bulk`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewBulk {
    /// What is done to each job or dead letter.
    pub action: BulkAction,
    /// Up to 1,000; or give `filter`. Job ids; for dead letters their own ids.
    #[serde(default)]
    pub ids: Option<Vec<Uuid>>,
    /// Not empty; or give `ids`.
    #[serde(default)]
    pub filter: Option<JobFilter>,
    /// Only count and show.
    #[serde(default)]
    pub dry_run: bool,
    /// 1 to 10,000; absent: no limit.
    #[serde(default)]
    pub rate_per_second: Option<i32>,
    /// Seconds before an action on more than 100 begins, in which it can be withdrawn: 0 to 3,600; default 30.
    #[serde(default)]
    pub hold_seconds: Option<i32>,
    /// For the audit log, up to 500 characters.
    #[serde(default)]
    pub reason: Option<String>,
}

impl NewBulk {
    /// # Errors
    /// Every fault, by field.
    pub fn check(&self, subject: BulkSubject) -> Result<(), Faults> {
        let mut faults = Faults::default();
        match (&self.ids, &self.filter) {
            (Some(ids), None) => {
                faults.require(limits::ITEMS.contains(&ids.len()), "/ids", "must be 1 to 1,000 ids");
            }
            (None, Some(filter)) => {
                faults.require(
                    !filter.is_empty(),
                    "/filter",
                    "must not be empty: give at least one condition, for example integration_id",
                );
                let found = match subject {
                    BulkSubject::DeadLetters => filter.check_of_dead_letters(),
                    _ => filter.check(),
                };
                for fault in found.err().unwrap_or_default().0 {
                    faults.add(format!("/filter/{}", fault.pointer), fault.detail);
                }
            }
            (Some(_), Some(_)) => faults.add("/filter", "and ids exclude each other"),
            (None, None) => faults.add("/ids", "or filter is required"),
        }
        let is_allowed = matches!(
            (subject, self.action),
            (_, BulkAction::Requeue)
                | (BulkSubject::Jobs, BulkAction::Cancel)
                | (BulkSubject::DeadLetters, BulkAction::Purge)
        );
        let accepted = match subject {
            BulkSubject::Jobs => "must be requeue or cancel",
            BulkSubject::DeadLetters => "must be requeue or purge",
            BulkSubject::App | BulkSubject::Integration => "is not a bulk action",
        };
        faults.require(is_allowed, "/action", accepted);
        faults.require_within(self.rate_per_second, &limits::RATE_PER_SECOND, "/rate_per_second");
        faults.require_within(self.hold_seconds, &limits::HOLD_SECONDS, "/hold_seconds");
        faults.require(
            self.reason.as_ref().is_none_or(|reason| limits::REASON_CHARS.contains(&reason.chars().count())),
            "/reason",
            "must be at most 500 characters",
        );
        faults.into_result()
    }
}

/// What a bulk action would change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DryRun {
    /// Number of matches now, exact.
    pub matched: i64,
    /// By integration and status.
    pub breakdown: Vec<DryRunPart>,
    /// A few of them.
    pub sample: Vec<JobId>,
    /// The same jobs with some details.
    pub sample_rows: Vec<SampleRow>,
    /// What a requeue adds to each rate limit, slowest first; empty for other actions.
    pub added_load: Vec<AddedLoad>,
    /// Estimated time, including the hold, until all jobs are in the queue and, for a requeue, could have passed the rate limits; null when unknown.
    pub eta_seconds: Option<i64>,
}

/// A job that a bulk action would change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "sqlx", derive(sqlx::FromRow))]
pub struct SampleRow {
    /// The job.
    pub job_id: JobId,
    /// Its integration.
    pub integration_id: crate::id::IntegrationId,
    /// Type of the job.
    pub job_type: String,
    /// Record type, of a record's job.
    pub record_type: Option<String>,
    /// Record id, of a record's job.
    pub record_id: Option<String>,
}

/// The load that a requeue adds to one rate limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AddedLoad {
    /// The matched integrations that share the limit; one, if it has no limit.
    pub integration_ids: Vec<crate::id::IntegrationId>,
    /// Added jobs.
    pub added: i64,
    /// Jobs of these integrations that are already pending.
    pub pending: i64,
    /// The limit: requests per `per_seconds`; null: no limit.
    pub requests: Option<i32>,
    /// The limit's window.
    pub per_seconds: Option<i32>,
    /// Time until all of them can have passed the limit; null without one.
    pub drain_seconds: Option<i64>,
}

/// The matches of one integration and status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DryRunPart {
    /// The integration.
    pub integration_id: crate::id::IntegrationId,
    /// The status.
    pub status: crate::job::JobStatus,
    /// Number of matches.
    pub count: i64,
}

/// Result of a call for a bulk action.
#[derive(Clone, Debug, PartialEq)]
pub enum BulkStart {
    /// Nothing was touched: what would be.
    DryRun(DryRun),
    /// The operation is done or begun.
    Outcome(BulkOutcome),
}

/// Result of starting a bulk action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkOutcome {
    /// Up to 100: done.
    Done(BulkDone),
    /// More than 100: runs in the background.
    Started(BulkStarted),
}

/// A finished bulk action on up to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BulkDone {
    /// Number of matches.
    pub matched: i64,
    /// Number of changed jobs or dead letters.
    pub changed: i64,
    /// Number of matches whose state no longer allowed it.
    pub skipped: i64,
    /// Read or undo it under `/operations/{id}`; absent when nothing matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = OperationId, required = false))]
    pub operation_id: Option<OperationId>,
}

/// A bulk action on more than 100, which runs in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BulkStarted {
    /// Follow it under `/operations/{id}`.
    pub operation_id: OperationId,
    /// Number of matches.
    pub matched: i64,
}

/// Why a bulk action did not change a job or dead letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum SkipReason {
    /// It is already in the queue.
    Pending,
    /// A worker has it.
    Processing,
    /// It waits for its next attempt.
    ToBeRetried,
    /// It completed.
    Completed,
    /// It was cancelled.
    Cancelled,
    /// It is a dead letter.
    DeadLetter,
    /// It no longer exists.
    Gone,
    /// It ended, or left the filter, after it was counted.
    MovedOn,
    /// Undo: it was tried since.
    Attempted,
    /// Undo: another job of its deduplication id does its work.
    TakenOver,
    /// Undo: a newer change was folded into it.
    ChangedSince,
    /// The database refused: see the log.
    Refused,
}

impl SkipReason {
    /// Words that follow a number: `12 tried since`.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Pending => "already in the queue",
            Self::Processing => "being processed",
            Self::ToBeRetried => "waiting for their next attempt",
            Self::Completed => "completed meanwhile",
            Self::Cancelled => "already cancelled",
            Self::DeadLetter => "dead letters",
            Self::Gone => "no longer there",
            Self::MovedOn => "ended or changed before they were reached",
            Self::Attempted => "tried since",
            Self::TakenOver => "taken over by a newer job of the same deduplication id",
            Self::ChangedSince => "changed since: a newer change is in them",
            Self::Refused => "refused by the database: the cause is in the log",
        }
    }
}

/// Number of matches skipped for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Skipped {
    /// Why.
    pub reason: SkipReason,
    /// Number.
    pub count: i64,
}

/// What can be done with an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum OperationStep {
    /// Stops it until it is resumed.
    Pause,
    /// Continues it, or ends its hold.
    Resume,
    /// Stops it for good; what is done stays done.
    Abort,
    /// Reverts it, if it has an inverse.
    Undo,
}

impl OperationStep {
    /// As it is written on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// State of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case", parse_err_ty = UnknownName, parse_err_fn = UnknownName::of)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum OperationState {
    /// Nothing is changed yet: it can be withdrawn.
    Held,
    /// Running.
    Running,
    /// Stopped until resumed.
    Paused,
    /// Finished.
    Done,
    /// Stopped for good.
    Aborted,
    /// Reverted.
    Undone,
}

impl OperationState {
    /// As it is written on the wire and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The answer to a deletion that continues in the background: nothing of the app or integration is accepted, sent or shown any more, and its
/// remaining rows are being deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeletionStarted {
    /// Follow it under `/operations/{id}`.
    pub operation_id: OperationId,
}

/// A bulk action, or the deletion of an app or an integration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Operation {
    /// UUIDv7.
    pub id: OperationId,
    /// Jobs or dead letters; or the app or integration that is deleted.
    pub subject: BulkSubject,
    /// What is done to each.
    pub action: BulkAction,
    /// To all that match it. Values in `payload` read `[masked]` for callers that see them masked in payloads; all of them do once an app or
    /// integration that it was about is deleted.
    pub filter: JobFilter,
    /// Number of ids that were given instead of a filter.
    pub named: Option<i64>,
    /// Name of the app or integration that is deleted.
    pub deleted_name: Option<String>,
    /// State of the operation.
    pub state: OperationState,
    /// Why it was requested.
    pub reason: Option<String>,
    /// Who requested it.
    pub requested_by: String,
    /// Number of matches when it was requested. Of a deletion: an estimate of the rows.
    pub matched: i64,
    /// Number of changed jobs or dead letters. Of a deletion: deleted rows and cancelled jobs.
    pub changed: i64,
    /// Number of matches whose state no longer allowed it.
    pub skipped: i64,
    /// The skipped ones by reason, most frequent first. Those not reached yet are not counted.
    pub skipped_reasons: Vec<Skipped>,
    /// The matches when it was requested, by integration and status.
    pub breakdown: Vec<DryRunPart>,
    /// A few of them.
    pub sample: Vec<JobId>,
    /// Chosen rate; null: no limit.
    pub rate_per_second: Option<i32>,
    /// Estimated time until it is done, including its hold; null unless it is held or running.
    pub eta_seconds: Option<i64>,
    /// The operation that this one undoes.
    pub undoes: Option<OperationId>,
    /// The operation that undid this one.
    pub undone_by: Option<OperationId>,
    /// Until when `POST /operations/{id}/undo` can undo it: 24 hours after it ended; null when it cannot be undone. Jobs that were tried since are
    /// not changed, and are counted as skipped.
    pub undo_until: Option<DateTime<Utc>>,
    /// End of the hold.
    pub hold_until: Option<DateTime<Utc>>,
    /// When it was requested.
    pub created_at: DateTime<Utc>,
    /// When the first change was made.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
}

impl Operation {
    /// Number of matches changed or skipped so far.
    #[must_use]
    pub fn handled(&self) -> i64 {
        self.changed + self.skipped
    }

    /// The steps that are possible now, in the order of their buttons. A deletion cannot be stopped.
    #[must_use]
    pub fn steps(&self, now: DateTime<Utc>) -> Vec<OperationStep> {
        if self.action == BulkAction::Delete {
            return Vec::new();
        }
        let mut steps = match self.state {
            OperationState::Held | OperationState::Running => {
                vec![OperationStep::Pause, OperationStep::Abort]
            }
            OperationState::Paused => vec![OperationStep::Resume, OperationStep::Abort],
            OperationState::Done | OperationState::Aborted | OperationState::Undone => Vec::new(),
        };
        if self.undo_until.is_some_and(|until| until > now) {
            steps.push(OperationStep::Undo);
        }
        steps
    }
}
