//! Bulk actions: what was asked for, how far it is.

use crate::{
    filter::JobFilter,
    id::{JobId, OperationId},
    limits,
    problem::Faults,
};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// What is done to each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum BulkAction {
    /// Back into the queue with all attempts anew.
    Requeue,
    /// Called off.
    Cancel,
    /// Deleted (dead letters).
    Purge,
}

impl BulkAction {
    /// As it is written on the wire and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Requeue => "requeue",
            Self::Cancel => "cancel",
            Self::Purge => "purge",
        }
    }
}

impl std::str::FromStr for BulkAction {
    type Err = crate::integration::UnknownName;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Requeue, Self::Cancel, Self::Purge]
            .into_iter()
            .find(|action| action.as_str() == text)
            .ok_or(crate::integration::UnknownName)
    }
}

/// Which list a bulk action works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum BulkSubject {
    /// Jobs in any state.
    Jobs,
    /// Dead letters.
    DeadLetters,
}

impl BulkSubject {
    /// As it is written on the wire and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Jobs => "jobs",
            Self::DeadLetters => "dead_letters",
        }
    }
}

impl std::str::FromStr for BulkSubject {
    type Err = crate::integration::UnknownName;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Jobs, Self::DeadLetters]
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
            (None, Some(filter)) => faults.require(
                !filter.is_empty(),
                "/filter",
                "must not be empty: name at least one condition, for example integration_id",
            ),
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
    /// How long it would take; null when unknown.
    pub eta_seconds: Option<i64>,
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum BulkOutcome {
    /// More than 100: it goes on in the background.
    Started {
        /// Follow it under `/operations/{id}`.
        operation_id: OperationId,
        /// How many it will touch.
        matched: i64,
    },
    /// Up to 100: done.
    Done {
        /// How many matched.
        matched: i64,
        /// How many were changed.
        changed: i64,
        /// How many were not in a state that allows it any more.
        skipped: i64,
    },
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

/// A bulk action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Operation {
    /// UUIDv7.
    pub id: OperationId,
    /// Jobs or dead letters.
    pub subject: BulkSubject,
    /// What is done to each.
    pub action: BulkAction,
    /// To which.
    pub filter: JobFilter,
    /// Where it stands.
    pub state: OperationState,
    /// Why it was asked for.
    pub reason: Option<String>,
    /// Who asked.
    pub requested_by: String,
    /// How many it will touch, counted when it was asked for.
    pub matched: i64,
    /// How many it changed.
    pub changed: i64,
    /// How many were not in a state that allows it any more.
    pub skipped: i64,
    /// Chosen pace; null: as fast as it goes.
    pub rate_per_second: Option<i32>,
    /// End of the hold.
    pub hold_until: Option<DateTime<Utc>>,
    /// When it was asked for.
    pub created_at: DateTime<Utc>,
    /// When the first was touched.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
}
