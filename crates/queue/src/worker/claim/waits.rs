//! What the claimer waits for between two claims.

use crate::worker::claim::claims::Claims;
use rand::Rng as _;
use std::time::Duration;

/// How long a full process waits for more slots to become free.
const GATHER_TIME: Duration = Duration::from_millis(2);

/// What wakes the claimer early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WakeOn {
    /// Only new work: everything claimable was claimed.
    Work,
    /// Also a free slot of this process: all were taken.
    WorkOrSlot,
    /// Also recorded results: something claimable was left because its lane is full.
    WorkOrRecorded,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    /// There may be something to claim, or there are to be no more claims.
    Woken,
    TimedOut,
}

impl Claims {
    pub(super) async fn wait_for(&self, wake_on: WakeOn, at_most: Duration) -> Waited {
        if wake_on == WakeOn::WorkOrRecorded {
            self.results.begin_awaiting();
        }
        let waited = tokio::select! {
            () = self.no_more_claims.cancelled() => Waited::Woken,
            () = self.wake_ups.woken() => Waited::Woken,
            () = self.runner.running.slot_freed(), if wake_on == WakeOn::WorkOrSlot => Waited::Woken,
            () = self.results_recorded(), if wake_on == WakeOn::WorkOrRecorded => Waited::Woken,
            () = tokio::time::sleep(at_most) => Waited::TimedOut,
        };
        self.results.end_awaiting();
        waited
    }

    /// Returns when results are recorded, or a moment later while more are about to be: a claim for each part would get few jobs each.
    async fn results_recorded(&self) {
        self.results.lanes_emptied().await;
        let all = async {
            while self.results.unrecorded() > self.results.locked_elsewhere() {
                self.results.lanes_emptied().await;
            }
        };
        // What is recorded by then is enough for a claim.
        let _ = tokio::time::timeout(GATHER_TIME, all).await;
    }

    /// All slots were taken, and jobs end one by one: a claim for each would cost more than the job. Waits until a quarter of the slots is free, or a
    /// moment.
    pub(super) async fn gather_free_slots(&self) {
        let is_enough = || self.free_slots() * 4 >= self.workers;
        let enough = async {
            while !is_enough() {
                self.runner.running.slot_freed().await;
            }
        };
        if self.free_slots() > 0 {
            tokio::select! {
                () = self.no_more_claims.cancelled() => {}
                () = enough => {}
                () = tokio::time::sleep(GATHER_TIME) => {}
            }
        }
    }

    /// Waits after a failure, longer each time.
    pub(super) async fn back_off(&self, failures: u32) {
        let wait = Duration::from_millis(100 << u32::min(failures, 5));
        tokio::select! {
            () = self.no_more_claims.cancelled() => {}
            () = tokio::time::sleep(wait.mul_f64(0.5 + rand::rng().random::<f64>())) => {}
        }
    }

    /// The poll interval, spread by chance so that processes do not poll in step.
    pub(super) fn poll(&self) -> Duration {
        self.poll_interval.mul_f64(0.8 + 0.4 * rand::rng().random::<f64>())
    }
}
