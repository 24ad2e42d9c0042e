//! Workers: processes that claim jobs.

use crate::id::WorkerId;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// Whether the others still count on a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum LeaseState {
    /// Its heartbeats come.
    Live,
    /// A heartbeat or two did not come; what it holds is still its own.
    Late,
    /// Three did not come: what it held is given to others. The row is kept for ten minutes.
    Lost,
}

impl LeaseState {
    /// By the age of the last heartbeat and the length of the lease that came with it, which is three heartbeats.
    #[must_use]
    pub fn of(age_seconds: f64, lease_seconds: f64) -> Self {
        if age_seconds >= lease_seconds {
            Self::Lost
        } else if age_seconds > lease_seconds / 2.0 {
            // Half a beat of grace: a beat may take its time.
            Self::Late
        } else {
            Self::Live
        }
    }
}

/// One start of one process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Worker {
    /// UUID of the process start.
    pub id: WorkerId,
    /// Host it runs on.
    pub host: String,
    /// Its process id there.
    pub pid: i32,
    /// Its version of Headgate.
    pub version: String,
    /// The program it is of, when that is not `headgate` itself: one that does its own jobs with the queue as a library.
    #[serde(default)]
    pub program: Option<String>,
    /// The kinds of jobs it has handlers for; null: it does whatever it claims.
    #[serde(default)]
    pub job_types: Option<Vec<String>>,
    /// Jobs it may run at once.
    pub slots: i32,
    /// Jobs it ran at its last heartbeat.
    pub busy: i32,
    /// Whether it claims nothing more.
    pub is_draining: bool,
    /// Whether it holds the leader's lease.
    pub is_leader: bool,
    /// Whether it is still counted on.
    pub lease: LeaseState,
    /// When it started.
    pub started_at: DateTime<Utc>,
    /// When it last said that it lives.
    pub heartbeat_at: DateTime<Utc>,
}

#[cfg(test)]
mod tests {
    use super::LeaseState;

    #[test]
    fn a_lease_is_late_once_a_heartbeat_was_missed_and_lost_after_three() {
        for (age, want) in [
            (0.0, LeaseState::Live),
            (10.4, LeaseState::Live),
            (15.1, LeaseState::Late),
            (29.9, LeaseState::Late),
            (30.0, LeaseState::Lost),
        ] {
            assert_eq!(LeaseState::of(age, 30.0), want, "{age}");
        }
    }
}
