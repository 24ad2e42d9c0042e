//! Workers: processes that claim jobs.

use crate::id::WorkerId;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// State of a process's lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum LeaseState {
    /// Heartbeats arrive.
    Live,
    /// One or two heartbeats are missing; its jobs are still its own.
    Late,
    /// Three are missing: its jobs are recovered. The row is kept for ten minutes.
    Lost,
}

impl LeaseState {
    /// By the age of the last heartbeat and the length of its lease, which is three heartbeats.
    #[must_use]
    pub fn of(age_seconds: f64, lease_seconds: f64) -> Self {
        if age_seconds >= lease_seconds {
            Self::Lost
        } else if age_seconds > lease_seconds / 2.0 {
            // Half a heartbeat of tolerance for slow ones.
            Self::Late
        } else {
            Self::Live
        }
    }
}

/// One run of one process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Worker {
    /// UUID of this run.
    pub id: WorkerId,
    /// Host.
    pub host: String,
    /// Process id.
    pub pid: i32,
    /// Version of Headgate.
    pub version: String,
    /// Its program, if that is not `headgate` itself: one that uses the queue as a library.
    #[serde(default)]
    pub program: Option<String>,
    /// Job types it has handlers for; null: all.
    #[serde(default)]
    pub job_types: Option<Vec<String>>,
    /// Jobs it may run at once.
    pub slots: i32,
    /// Jobs it was running at its last heartbeat.
    pub busy: i32,
    /// Whether it claims nothing more.
    pub is_draining: bool,
    /// Whether it is the leader.
    pub is_leader: bool,
    /// State of its lease.
    pub lease: LeaseState,
    /// When it started.
    pub started_at: DateTime<Utc>,
    /// Time of its last heartbeat.
    pub heartbeat_at: DateTime<Utc>,
}

impl Worker {
    /// How many jobs these processes may run at once; lost ones run none.
    #[must_use]
    pub fn slots_of(workers: &[Self]) -> i64 {
        let live = workers.iter().filter(|worker| worker.lease != LeaseState::Lost);
        live.map(|worker| i64::from(worker.slots)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{LeaseState, Worker};
    use crate::fixtures::live_worker;

    #[test]
    fn a_lost_process_has_no_slots() {
        let worker = |lease| Worker { lease, ..live_worker() };
        let workers = [LeaseState::Live, LeaseState::Late, LeaseState::Lost].map(worker);
        assert_eq!(Worker::slots_of(&workers), 200);
        assert_eq!(Worker::slots_of(&[]), 0);
    }

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
