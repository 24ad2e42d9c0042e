//! What the claimer works with.

use crate::worker::lease::ProcessLease;
use crate::worker::run::AttemptRunner;
use crate::worker::state::{Availability, ClaimBatches, Meters, Results, WakeUps, Watchdog};
use model::id::{AssignmentId, ClaimBatchId, IntegrationId};
use sqlx::PgPool;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Claims jobs for the free slots of this process, and hands them to the runner.
pub(crate) struct Claims {
    pub(crate) pool: PgPool,
    /// Most jobs this process runs at once.
    pub(crate) workers: usize,
    pub(crate) fetch_limit: usize,
    pub(crate) poll_interval: Duration,
    pub(crate) program: Option<String>,
    pub(crate) lease: Arc<ProcessLease>,
    pub(crate) batches: Arc<ClaimBatches>,
    pub(crate) results: Arc<Results>,
    pub(crate) availability: Arc<Availability>,
    pub(crate) wake_ups: Arc<WakeUps>,
    pub(crate) meters: Arc<Meters>,
    pub(crate) watchdog: Arc<Watchdog>,
    pub(crate) runner: Arc<AttemptRunner>,
    pub(crate) no_more_claims: CancellationToken,
    /// Claimed jobs were dropped, since this was last asked.
    pub(crate) has_dropped: AtomicBool,
}

impl Claims {
    /// Slots for further jobs. Unrecorded results beyond the number of workers occupy slots too, so that a slow database slows claims down, and so do
    /// handlers that block their threads.
    pub(super) fn free_slots(&self) -> usize {
        let excess_results = self.results.unrecorded().saturating_sub(self.workers);
        let taken = self.runner.running.count() + excess_results + self.runner.attempts.blocked();
        self.workers.saturating_sub(taken)
    }

    pub(super) fn add(&self, batch_id: ClaimBatchId, leases: &[(AssignmentId, IntegrationId)]) {
        self.runner.running.add(leases);
        self.batches.add(batch_id, leases.len());
    }

    /// Drops claimed jobs of which it is unknown whether this worker has them: they are not started, and the claimer reconciles them.
    pub(super) fn drop_claimed(&self, batch_id: ClaimBatchId, leases: &[(AssignmentId, IntegrationId)]) {
        self.batches.keep(batch_id);
        self.has_dropped.store(true, Ordering::Relaxed);
        for (assignment_id, _) in leases {
            self.runner.running.free_slot(*assignment_id);
        }
        self.wake_ups.wake();
    }

    /// Whether claimed jobs were dropped since the last call.
    pub(super) fn has_dropped(&self) -> bool {
        self.has_dropped.swap(false, Ordering::Relaxed)
    }
}
