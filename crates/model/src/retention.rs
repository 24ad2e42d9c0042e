//! How long things are kept: the one table of what goes by itself after a time that a deployment chooses.

use crate::duration;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What goes by itself after a time that a deployment chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Retained {
    /// Completed and cancelled jobs and failed attempts, by the day of their end.
    FinishedJobs,
    /// Deleted records, since their deletion; those alone that no integration has, or may have, any more.
    DeletedRecords,
    /// Re-syncs and their batches, since their end.
    Resyncs,
    /// Bulk actions, since their end.
    Operations,
    /// Lines of the audit log.
    AuditLog,
    /// The ids of accepted events, by which the same event again changes nothing.
    EventIds,
}

impl Retained {
    /// All of them, as they are told.
    pub const ALL: [Self; 6] = [
        Self::FinishedJobs,
        Self::DeletedRecords,
        Self::Resyncs,
        Self::Operations,
        Self::AuditLog,
        Self::EventIds,
    ];

    /// The setting that says how long.
    #[must_use]
    pub const fn setting(self) -> &'static str {
        match self {
            Self::FinishedJobs => "HEADGATE_RETENTION",
            Self::DeletedRecords => "HEADGATE_DELETED_RECORD_RETENTION",
            Self::Resyncs => "HEADGATE_RESYNC_RETENTION",
            Self::Operations => "HEADGATE_OPERATION_RETENTION",
            Self::AuditLog => "HEADGATE_AUDIT_RETENTION",
            Self::EventIds => "HEADGATE_EVENT_ID_RETENTION",
        }
    }

    /// What it says, after the setting's name.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::FinishedJobs => "how long finished jobs and attempts stay",
            Self::DeletedRecords => {
                "how long a deleted record is remembered, at least until every integration that had it has been told"
            }
            Self::Resyncs => "how long re-syncs and their batches stay after their end",
            Self::Operations => "how long bulk actions stay after their end",
            Self::AuditLog => "how long audit lines stay",
            Self::EventIds => "how long an event's `id` makes it idempotent",
        }
    }

    /// What holds when nothing is set, as the setting would say it.
    #[must_use]
    pub const fn default_text(self) -> &'static str {
        match self {
            Self::FinishedJobs => "7d",
            Self::DeletedRecords => "30d",
            Self::Resyncs | Self::Operations => "90d",
            Self::AuditLog => "365d",
            Self::EventIds => "24h",
        }
    }

    /// The same as a time.
    #[must_use]
    pub fn default_duration(self) -> Duration {
        duration::parse(self.default_text()).expect("a duration")
    }
}

/// What a deployment has chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retentions([Duration; Retained::ALL.len()]);

impl Retentions {
    /// How long this is kept.
    #[must_use]
    pub const fn of(self, what: Retained) -> Duration {
        self.0[what as usize]
    }

    /// The same, but for one.
    #[must_use]
    pub const fn with(mut self, what: Retained, kept: Duration) -> Self {
        self.0[what as usize] = kept;
        self
    }
}

impl Default for Retentions {
    fn default() -> Self {
        Self(Retained::ALL.map(Retained::default_duration))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_place_of_its_own() {
        for (at, what) in Retained::ALL.into_iter().enumerate() {
            assert_eq!(what as usize, at);
            let changed = Retentions::default().with(what, Duration::from_secs(1));
            let differs = |other: &Retained| changed.of(*other) != other.default_duration();
            assert_eq!(Retained::ALL.into_iter().filter(differs).collect::<Vec<_>>(), [what]);
        }
    }
}
