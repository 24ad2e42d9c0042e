//! Bulk actions, and deletions of apps and integrations: what was asked for, how far it is.

use crate::{
    filter::JobFilter,
    id::{JobId, OperationId},
    limits,
    problem::Faults,
};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Up to so many jobs are changed at once: nothing to hold, nothing to pace.
pub const AT_ONCE: i64 = 100;

/// What is done to each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum BulkAction {
    /// Back into the queue with all attempts anew.
    Requeue,
    /// Called off.
    Cancel,
    /// Put into the bin, which is emptied after 24 hours (dead letters).
    Purge,
    /// Put back where another bulk action found them: only by `POST /operations/{id}/undo`.
    Undo,
    /// Deleted for good, with everything that is left of it: only by `DELETE /apps/{id}` and `DELETE /integrations/{id}`.
    Delete,
}

impl BulkAction {
    /// As it is written on the wire and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Requeue => "requeue",
            Self::Cancel => "cancel",
            Self::Purge => "purge",
            Self::Undo => "undo",
            Self::Delete => "delete",
        }
    }
}

impl std::str::FromStr for BulkAction {
    type Err = crate::integration::UnknownName;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Requeue, Self::Cancel, Self::Purge, Self::Undo, Self::Delete]
            .into_iter()
            .find(|action| action.as_str() == text)
            .ok_or(crate::integration::UnknownName)
    }
}

/// What an operation works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum BulkSubject {
    /// Jobs in any state.
    Jobs,
    /// Dead letters.
    DeadLetters,
    /// What is left of an app that is deleted.
    App,
    /// What is left of an integration that is deleted.
    Integration,
}

impl BulkSubject {
    /// As it is written on the wire and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Jobs => "jobs",
            Self::DeadLetters => "dead_letters",
            Self::App => "app",
            Self::Integration => "integration",
        }
    }
}

impl std::str::FromStr for BulkSubject {
    type Err = crate::integration::UnknownName;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Jobs, Self::DeadLetters, Self::App, Self::Integration]
            .into_iter()
            .find(|subject| subject.as_str() == text)
            .ok_or(crate::integration::UnknownName)
    }
}

/// `POST /jobs/bulk` and `POST /dead-letters/bulk`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewBulk {
    /// What is done to each.
    pub action: BulkAction,
    /// Up to 1,000; or `filter`. Job ids; for dead letters their own ids.
    #[serde(default)]
    pub ids: Option<Vec<Uuid>>,
    /// Not empty; or `ids`.
    #[serde(default)]
    pub filter: Option<JobFilter>,
    /// Only count and show.
    #[serde(default)]
    pub dry_run: bool,
    /// 1 to 10,000; absent: as fast as it goes.
    #[serde(default)]
    pub rate_per_second: Option<i32>,
    /// How long more than 100 are held before the first is touched, 0 to 3,600; default 30.
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
                    "must not be empty: name at least one condition, for example integration_id",
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
        let is_known = matches!(
            (subject, self.action),
            (_, BulkAction::Requeue)
                | (BulkSubject::Jobs, BulkAction::Cancel)
                | (BulkSubject::DeadLetters, BulkAction::Purge)
        );
        let accepted = match subject {
            BulkSubject::Jobs => "must be requeue or cancel",
            BulkSubject::DeadLetters => "must be requeue or purge",
            BulkSubject::App | BulkSubject::Integration => "is not for bulk actions",
        };
        faults.require(is_known, "/action", accepted);
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

/// What a bulk action would touch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DryRun {
    /// Exactly, at the moment of asking.
    pub matched: i64,
    /// By integration and status.
    pub breakdown: Vec<DryRunPart>,
    /// A few of them.
    pub sample: Vec<JobId>,
    /// The same, with what to know them by.
    pub sample_rows: Vec<SampleRow>,
    /// What a requeue adds to each rate limit, the slowest first; empty for other actions.
    pub added_load: Vec<AddedLoad>,
    /// How long it would take, the hold included, until everything is handed to the queue and, of a requeue, has passed the limits as
    /// far as they alone decide; null when unknown.
    pub eta_seconds: Option<i64>,
}

/// One of those a bulk action would touch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "sqlx", derive(sqlx::FromRow))]
pub struct SampleRow {
    /// The job.
    pub job_id: JobId,
    /// For which integration.
    pub integration_id: crate::id::IntegrationId,
    /// What kind of job.
    pub job_type: String,
    /// Of a record's change.
    pub record_type: Option<String>,
    /// Of a record's change.
    pub record_id: Option<String>,
}

/// What a requeue adds to one rate limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AddedLoad {
    /// The integrations of the selection that share the limit; one, when it has none.
    pub integration_ids: Vec<crate::id::IntegrationId>,
    /// Jobs that come on top.
    pub added: i64,
    /// Jobs of these integrations that are pending already.
    pub pending: i64,
    /// The limit: requests per `per_seconds`; null: not limited.
    pub requests: Option<i32>,
    /// The limit's window.
    pub per_seconds: Option<i32>,
    /// How long the limit alone needs to let all of them pass; null without one.
    pub drain_seconds: Option<i64>,
}

/// A part of what would be touched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DryRunPart {
    /// Which integration.
    pub integration_id: crate::id::IntegrationId,
    /// Which status.
    pub status: crate::job::JobStatus,
    /// How many.
    pub count: i64,
}

/// What became of a bulk action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkOutcome {
    /// Up to 100: done.
    Done(BulkDone),
    /// More than 100: it goes on in the background.
    Started(BulkStarted),
}

/// A bulk action of up to 100, which is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BulkDone {
    /// How many matched.
    pub matched: i64,
    /// How many were changed.
    pub changed: i64,
    /// How many were not in a state that allows it any more.
    pub skipped: i64,
    /// Look at it, or take it back, under `/operations/{id}`; absent when nothing matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = OperationId, required = false))]
    pub operation_id: Option<OperationId>,
}

/// A bulk action of more than 100, which goes on in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BulkStarted {
    /// Follow it under `/operations/{id}`.
    pub operation_id: OperationId,
    /// How many it will touch.
    pub matched: i64,
}

/// Why a bulk action left a row as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum SkipReason {
    /// It is in the queue already.
    Pending,
    /// A worker has it.
    Processing,
    /// It waits for its next attempt.
    ToBeRetried,
    /// It completed.
    Completed,
    /// It was cancelled.
    Cancelled,
    /// It was given up.
    DeadLetter,
    /// It is not there any more.
    Gone,
    /// Between count and turn it ended, or left the filter.
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
    /// In words, after "12": `12 had been tried since`.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Pending => "in the queue already",
            Self::Processing => "being processed",
            Self::ToBeRetried => "waiting for their next attempt",
            Self::Completed => "completed meanwhile",
            Self::Cancelled => "cancelled already",
            Self::DeadLetter => "given up, and among the dead letters",
            Self::Gone => "not there any more",
            Self::MovedOn => "moved on before their turn",
            Self::Attempted => "tried since",
            Self::TakenOver => "taken over by a newer job of the same deduplication id",
            Self::ChangedSince => "changed since: a newer change is in them",
            Self::Refused => "refused by the database: the cause is in the log",
        }
    }
}

/// Rows left as they were for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Skipped {
    /// Why.
    pub reason: SkipReason,
    /// How many.
    pub count: i64,
}

/// What can be done about an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationStep {
    /// Stops it until it is resumed.
    Pause,
    /// Lets it go on, or ends its hold.
    Resume,
    /// Stops it for good; what is done stays done.
    Abort,
    /// Takes it back, where there is an inverse.
    Undo,
}

impl OperationStep {
    /// As it is written on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Abort => "abort",
            Self::Undo => "undo",
        }
    }
}

/// Where a bulk action stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum OperationState {
    /// Nothing is touched yet: it can be withdrawn.
    Held,
    /// It goes on.
    Running,
    /// Stopped until resumed.
    Paused,
    /// Came to its end.
    Done,
    /// Stopped for good.
    Aborted,
    /// Taken back.
    Undone,
}

impl OperationState {
    /// As it is written on the wire and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Done => "done",
            Self::Aborted => "aborted",
            Self::Undone => "undone",
        }
    }
}

impl std::str::FromStr for OperationState {
    type Err = crate::integration::UnknownName;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Held, Self::Running, Self::Paused, Self::Done, Self::Aborted, Self::Undone]
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or(crate::integration::UnknownName)
    }
}

/// The answer to a deletion that goes on: nothing of the app or integration is accepted, sent or shown any more, and what is left of it goes in
/// the background.
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
    /// To which.
    pub filter: JobFilter,
    /// So many were named one by one instead.
    pub named: Option<i64>,
    /// What the app or integration was called that is deleted.
    pub deleted_name: Option<String>,
    /// Where it stands.
    pub state: OperationState,
    /// Why it was asked for.
    pub reason: Option<String>,
    /// Who asked.
    pub requested_by: String,
    /// How many it will touch, counted when it was asked for. Of a deletion: about how many rows.
    pub matched: i64,
    /// How many it changed. Of a deletion: rows deleted, and jobs called off.
    pub changed: i64,
    /// How many were not in a state that allows it any more.
    pub skipped: i64,
    /// The same by reason, the most frequent first. Rows that are not reached yet are in none.
    pub skipped_reasons: Vec<Skipped>,
    /// What was counted when it was asked for, by integration and status.
    pub breakdown: Vec<DryRunPart>,
    /// A few of them.
    pub sample: Vec<JobId>,
    /// Chosen pace; null: as fast as it goes.
    pub rate_per_second: Option<i32>,
    /// About how long until it is done, its hold included; null unless it is held or running.
    pub eta_seconds: Option<i64>,
    /// The one it takes back, when it is an undo.
    pub undoes: Option<OperationId>,
    /// The one that took it back.
    pub undone_by: Option<OperationId>,
    /// Until when `POST /operations/{id}/undo` may take it back: 24 hours after it ended; null when it cannot be. What was tried since
    /// stays as it is, and is counted as skipped.
    pub undo_until: Option<DateTime<Utc>>,
    /// End of the hold.
    pub hold_until: Option<DateTime<Utc>>,
    /// When it was asked for.
    pub created_at: DateTime<Utc>,
    /// When the first was touched.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
}

impl Operation {
    /// How many it came past: changed or left as they were.
    #[must_use]
    pub fn handled(&self) -> i64 {
        self.changed + self.skipped
    }

    /// What may be done about it now, in the order in which it is offered. Nothing stops a deletion.
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
