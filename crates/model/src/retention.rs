//! Retention: everything that is deleted automatically after a configurable time.

use crate::duration;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use strum::VariantArray;

/// What is deleted automatically after a configurable time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Retained {
    /// Completed and cancelled jobs and failed attempts, by the day of their end.
    FinishedJobs,
    /// Deleted records, from their deletion; only those that no integration has, or may have, any more.
    DeletedRecords,
    /// Re-syncs and their batches, from their end.
    Resyncs,
    /// Bulk actions, from their end.
    Operations,
    /// Lines of the audit log.
    AuditLog,
    /// Ids of accepted events, which make repeated events change nothing.
    EventIds,
}

impl Retained {
    /// All, in the order in which they are shown.
    pub const ALL: &'static [Self] = Self::VARIANTS;

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

    /// Description of the setting.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::FinishedJobs => "how long finished jobs and attempts stay",
            Self::DeletedRecords => {
                "how long a deleted record is kept, at least until every integration that had it has received the deletion"
            }
            Self::Resyncs => "how long re-syncs and their batches stay after their end",
            Self::Operations => "how long bulk actions stay after their end",
            Self::AuditLog => "how long audit lines stay",
            Self::EventIds => "how long an event's `id` makes it idempotent",
        }
    }

    /// Default of the setting, as text.
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

    /// Default of the setting.
    #[must_use]
    pub fn default_duration(self) -> Duration {
        duration::parse(self.default_text()).expect("a duration")
    }
}

/// The configured times of a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retentions([Duration; Retained::ALL.len()]);

impl Retentions {
    /// How long this is kept.
    #[must_use]
    pub const fn of(self, what: Retained) -> Duration {
        self.0[what as usize]
    }

    /// Changes one of them.
    #[must_use]
    pub const fn with(mut self, what: Retained, kept: Duration) -> Self {
        self.0[what as usize] = kept;
        self
    }
}

impl Default for Retentions {
    fn default() -> Self {
        Self(std::array::from_fn(|index| Retained::ALL[index].default_duration()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_own_index() {
        for (index, &what) in Retained::ALL.iter().enumerate() {
            assert_eq!(what as usize, index);
            let changed = Retentions::default().with(what, Duration::from_secs(1));
            let differs = |other: &Retained| changed.of(*other) != other.default_duration();
            assert_eq!(Retained::ALL.iter().copied().filter(differs).collect::<Vec<_>>(), [what]);
        }
    }
}
