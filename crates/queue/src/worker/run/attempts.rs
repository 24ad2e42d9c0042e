//! The running attempts of this process, and how each can be ended.
//!
//! An attempt is stopped by its own task, which needs a thread. A handler that blocks its thread (a long computation, `std::thread::sleep`) keeps
//! that task from noticing the time-out. So the heartbeats' thread checks too: a time-out is recorded when it is due, whatever the handler does.
//! What such a handler returns later is dropped; until then its thread is lost to the process, and so is a slot.
//!
//! A cancel request reaches an attempt through `request_cancel`: by a notification, or by the heartbeat, which finds requests whose notification was
//! lost. The attempt's own task stops the handler and records the end; a handler that blocks its thread goes on until it yields.

use crate::{mutex::lock, worker::run::Attempt};
use model::id::{AssignmentId, JobId};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::time::Instant;

/// Checks of an overdue attempt after which its handler counts as blocking its thread: its own task had as many chances to stop it.
const MAX_OVERDUE_CHECKS: u8 = 4;

#[derive(Default)]
struct Running {
    attempts: HashMap<AssignmentId, Arc<Attempt>>,
    /// Cancel requests for attempts that do not run here: another process's, or of a job that was claimed a moment ago. Kept until the next heartbeat.
    early_cancels: HashSet<AssignmentId>,
}

#[derive(Default)]
pub(crate) struct Attempts {
    running: Mutex<Running>,
    blocked: AtomicUsize,
}

impl Attempts {
    pub(crate) fn add(&self, attempt: &Arc<Attempt>) {
        let id = attempt.job.assignment_id;
        let mut running = lock(&self.running);
        if !running.early_cancels.is_empty() && running.early_cancels.remove(&id) {
            attempt.request_cancel();
        }
        running.attempts.insert(id, Arc::clone(attempt));
    }

    pub(crate) fn remove(&self, assignment_id: AssignmentId) {
        let removed = lock(&self.running).attempts.remove(&assignment_id);
        // Values of the handler are dropped outside the lock.
        drop(removed);
    }

    /// Attempts that timed out and were not ended by their own task. Of a lost lease nothing can be recorded.
    pub(crate) fn overdue(&self, now: Instant) -> Vec<Arc<Attempt>> {
        let is_overdue = |attempt: &&Arc<Attempt>| {
            attempt.deadline() <= now
                && !attempt.lease.is_lost()
                && attempt.count_overdue_check() >= MAX_OVERDUE_CHECKS
        };
        lock(&self.running).attempts.values().filter(is_overdue).cloned().collect()
    }

    /// Passes cancel requests on to these attempts, if they run or once they do.
    pub(crate) fn request_cancel(&self, assignments: impl IntoIterator<Item = AssignmentId>) {
        let mut running = lock(&self.running);
        for id in assignments {
            match running.attempts.get(&id) {
                // Its end is recorded, and only its handler blocks a thread: there is nothing left to cancel.
                Some(attempt) if attempt.has_ended() => {}
                Some(attempt) => {
                    if attempt.request_cancel() {
                        let job = &attempt.job;
                        tracing::info!(job.id = %job.id, job.type = %job.job_type, correlation_id = job.correlation_id, "job {} was cancelled: stopping its handler", job.id);
                    }
                }
                None => {
                    running.early_cancels.insert(id);
                }
            }
        }
    }

    /// The attempts that have not ended, to ask the database for their cancel requests. Forgets earlier requests for other attempts.
    pub(crate) fn unfinished(&self) -> Vec<(JobId, AssignmentId)> {
        let mut running = lock(&self.running);
        running.early_cancels = HashSet::new();
        let going_on = running.attempts.values().filter(|attempt| !attempt.has_ended());
        going_on.map(|attempt| (attempt.job.id, attempt.job.assignment_id)).collect()
    }

    /// Handlers that have not returned although their attempts were ended.
    pub(crate) fn blocked(&self) -> usize {
        self.blocked.load(Ordering::Relaxed)
    }

    pub(crate) fn add_blocked(&self) {
        self.blocked.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn remove_blocked(&self) {
        self.blocked.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        store::jobs::ClaimedJob,
        worker::{handler::LeasedJob, lease::Lease, limit::Slots, sample_job::plain},
    };
    use std::time::Duration;
    use tracing_subscriber::{Layer, layer::Context, prelude::*};

    /// Counts log lines.
    struct Lines(Arc<AtomicUsize>);

    impl<S: tracing::Subscriber> Layer<S> for Lines {
        fn on_event(&self, _: &tracing::Event<'_>, _: Context<'_, S>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_cancel_request_is_logged_once_and_not_at_all_when_the_attempt_has_ended() {
        let lines = Arc::new(AtomicUsize::new(0));
        let _guard = tracing_subscriber::registry().with(Lines(Arc::clone(&lines))).set_default();
        let attempts = Attempts::default();
        let [slow, blocked] = [(); 2].map(|()| {
            let job = plain();
            let ticket = ClaimedJob { id: job.id, assignment_id: job.assignment_id, ..plain() };
            let leased = LeasedJob::unlimited(job, Duration::from_secs(1));
            Arc::new(Attempt::new(leased, ticket, Slots::default(), Arc::new(Lease::endless())))
        });
        attempts.add(&slow);
        attempts.add(&blocked);
        assert!(blocked.end().is_some(), "its time-out is recorded, and its handler blocks its thread");
        let both = [slow.job.assignment_id, blocked.job.assignment_id];
        for _ in 0..3 {
            let asked: Vec<AssignmentId> = attempts.unfinished().into_iter().map(|(_, id)| id).collect();
            assert_eq!(asked, [slow.job.assignment_id]);
            attempts.request_cancel(both);
        }
        assert_eq!(lines.load(Ordering::Relaxed), 1);
        attempts.remove(blocked.job.assignment_id);
    }
}
