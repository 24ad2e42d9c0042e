//! The attempts under way in this process, and who may end each.
//!
//! An attempt is stopped by its own task, which needs a thread. A handler that blocks its thread (a long computation, `std::thread::sleep`)
//! keeps that task from noticing that the time is over. So somebody else looks, from the heartbeats' thread: a time-out is recorded when it
//! is due whatever the handler does. What such a handler answers later is dropped; until it comes back its thread is lost to the
//! process, and so is a slot.
//!
//! An attempt whose job was called off is told so (`call_off`): by a notification, or by the heartbeat that finds what a lost one would have
//! said. Its own task stops the handler and records the end; one that blocks its thread goes on until it yields.

use crate::{
    store::jobs::ClaimedJob,
    worker::{Doubt, HeldJob, Slots, lease::Lease},
};
use model::id::{AssignmentId, JobId};
use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{sync::Notify, time::Instant};

/// What a handler gets beyond the job's time, so that its own time-out, which can say more, comes first.
const TIMEOUT_MARGIN: Duration = Duration::from_millis(250);
/// A limited job waits for slots within its attempt; that time is given back afterwards.
const SLOT_MARGIN: Duration = Duration::from_secs(1);
/// Looks at an attempt whose time is over until its handler counts as one that does not yield: its own task had as many chances.
const PATIENT_LOOKS: u8 = 4;

/// One attempt.
pub(super) struct Attempt {
    pub held: HeldJob,
    pub lease: Arc<Lease>,
    pub began_at: Instant,
    slots: Slots,
    /// The job without its payload, until whoever ends the attempt takes it.
    ticket: Mutex<Option<ClaimedJob>>,
    looks: AtomicU8,
    called_off: Notify,
    is_told: AtomicBool,
}

impl Attempt {
    pub(super) fn new(held: HeldJob, ticket: ClaimedJob, slots: Slots, lease: Arc<Lease>) -> Self {
        let ticket = Mutex::new(Some(ticket));
        Self {
            held,
            lease,
            began_at: Instant::now(),
            slots,
            ticket,
            looks: AtomicU8::new(0),
            called_off: Notify::new(),
            is_told: AtomicBool::new(false),
        }
    }

    /// When its time is over, as far as is known now: waiting for a slot does not count.
    pub(super) fn deadline(&self) -> Instant {
        let margin = if self.slots.is_limited() { TIMEOUT_MARGIN + SLOT_MARGIN } else { TIMEOUT_MARGIN };
        self.began_at + self.held.timeout + margin + self.slots.waited() + self.held.time_off()
    }

    /// Until its job is called off and the handler may be stopped. What it tells together with others in one request is not stopped any more
    /// once that is on its way: then the attempt ends by the answer.
    pub(super) async fn called_off(&self) {
        loop {
            self.called_off.notified().await;
            if self.held.stop() {
                return;
            }
        }
    }

    /// Has the handler stopped; answers whether that is news. Every heartbeat says it again, for what could not be stopped when it was told.
    fn call_off(&self) -> bool {
        self.called_off.notify_one();
        !self.is_told.swap(true, Ordering::Relaxed)
    }

    /// Whether its end was recorded, or is about to be, while its handler does not come back.
    fn has_ended(&self) -> bool {
        self.ticket().is_none()
    }

    fn ticket(&self) -> MutexGuard<'_, Option<ClaimedJob>> {
        self.ticket.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the attempt: the job, and what may have arrived. None: it was ended before, and what is said now is too late.
    pub(super) fn end(&self) -> Option<(ClaimedJob, Option<Doubt>)> {
        let ticket = self.ticket().take()?;
        Some((ticket, self.held.take_doubt()))
    }
}

#[derive(Default)]
struct UnderWay {
    attempts: HashMap<AssignmentId, Arc<Attempt>>,
    /// What was called off and is not under way here: somebody else's, or a job that was claimed a moment ago. Until the next heartbeat.
    early: HashSet<AssignmentId>,
}

/// All of them.
#[derive(Default)]
pub(super) struct Attempts {
    under_way: Mutex<UnderWay>,
    blocked: AtomicUsize,
}

impl Attempts {
    pub(super) fn add(&self, attempt: &Arc<Attempt>) {
        let id = attempt.held.assignment_id;
        let mut under_way = self.lock();
        if !under_way.early.is_empty() && under_way.early.remove(&id) {
            attempt.call_off();
        }
        under_way.attempts.insert(id, Arc::clone(attempt));
    }

    pub(super) fn remove(&self, assignment_id: AssignmentId) {
        let removed = self.lock().attempts.remove(&assignment_id);
        // What the handler left in it is dropped outside the lock.
        drop(removed);
    }

    /// Those whose time is over and whose own task does not end them. Of a lost lease nothing can be recorded.
    pub(super) fn overdue(&self, now: Instant) -> Vec<Arc<Attempt>> {
        let has_its_turn = |attempt: &&Arc<Attempt>| {
            attempt.deadline() <= now
                && !attempt.lease.is_lost()
                && attempt.looks.fetch_add(1, Ordering::Relaxed) + 1 >= PATIENT_LOOKS
        };
        self.lock().attempts.values().filter(has_its_turn).cloned().collect()
    }

    /// Their jobs were called off: each is told, once it is under way.
    pub(super) fn call_off(&self, assignments: impl IntoIterator<Item = AssignmentId>) {
        let mut under_way = self.lock();
        for id in assignments {
            match under_way.attempts.get(&id) {
                // One whose end is recorded while its handler blocks its thread: there is nothing left to call off.
                Some(attempt) if attempt.has_ended() => {}
                Some(attempt) => {
                    if attempt.call_off() {
                        let job = &attempt.held;
                        tracing::info!(job.id = %job.id, job.type = %job.job_type, correlation_id = job.correlation_id, "job {} was called off: its handler is told to stop", job.id);
                    }
                }
                None => {
                    under_way.early.insert(id);
                }
            }
        }
    }

    /// What is under way and has not ended, for whoever asks the database which of it was called off. What was heard before is forgotten.
    pub(super) fn held(&self) -> Vec<(JobId, AssignmentId)> {
        let mut under_way = self.lock();
        under_way.early = HashSet::new();
        let going_on = under_way.attempts.values().filter(|attempt| !attempt.has_ended());
        going_on.map(|attempt| (attempt.held.id, attempt.held.assignment_id)).collect()
    }

    /// Handlers whose attempts were ended and that did not come back.
    pub(super) fn blocked(&self) -> usize {
        self.blocked.load(Ordering::Relaxed)
    }

    pub(super) fn add_blocked(&self) {
        self.blocked.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn came_back(&self) {
        self.blocked.fetch_sub(1, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, UnderWay> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::{Peers, sample_job::plain};
    use tracing_subscriber::{Layer, layer::Context, prelude::*};

    /// Counts what is logged.
    struct Lines(Arc<AtomicUsize>);

    impl<S: tracing::Subscriber> Layer<S> for Lines {
        fn on_event(&self, _: &tracing::Event<'_>, _: Context<'_, S>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn one_that_is_called_off_is_told_of_once_and_not_at_all_when_it_has_ended() {
        let lines = Arc::new(AtomicUsize::new(0));
        let _guard = tracing_subscriber::registry().with(Lines(Arc::clone(&lines))).set_default();
        let attempts = Attempts::default();
        let [slow, blocked] = [(); 2].map(|()| {
            let job = plain();
            let ticket = ClaimedJob { id: job.id, assignment_id: job.assignment_id, ..plain() };
            let held = HeldJob::new(job, Duration::from_secs(1), Slots::default(), Arc::new(Peers::new(1)));
            Arc::new(Attempt::new(held, ticket, Slots::default(), Arc::new(Lease::for_good())))
        });
        attempts.add(&slow);
        attempts.add(&blocked);
        assert!(blocked.end().is_some(), "its time-out is recorded, and its handler blocks its thread");
        let both = [slow.held.assignment_id, blocked.held.assignment_id];
        for _ in 0..3 {
            let asked: Vec<AssignmentId> = attempts.held().into_iter().map(|(_, id)| id).collect();
            assert_eq!(asked, [slow.held.assignment_id]);
            attempts.call_off(both);
        }
        assert_eq!(lines.load(Ordering::Relaxed), 1);
        attempts.remove(blocked.held.assignment_id);
    }
}
