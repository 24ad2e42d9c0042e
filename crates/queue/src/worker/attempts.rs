//! The attempts under way in this process, and who may end each.
//!
//! An attempt is stopped by its own task, which needs a thread. A handler that blocks its thread (a long computation, `std::thread::sleep`)
//! keeps that task from noticing that the time is over. So somebody else looks, from the heartbeats' thread: a time-out is recorded when it
//! is due whatever the handler does. What such a handler answers later is dropped; until it comes back its thread is lost to the
//! process, and so is a slot.

use crate::{
    store::jobs::ClaimedJob,
    worker::{Doubt, HeldJob, Slots, shared::Lease},
};
use model::id::AssignmentId;
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;

/// What a handler gets beyond the job's time, so that its own time-out, which can say more, comes first.
const TIMEOUT_MARGIN: Duration = Duration::from_millis(250);
/// A limited job waits for slots within its attempt; that time is given back afterwards.
const SLOT_MARGIN: Duration = Duration::from_secs(1);
/// Looks at an attempt whose time is over until its handler counts as one that does not yield: its own task had as many chances.
const PATIENT_LOOKS: u8 = 4;

/// One attempt.
pub(super) struct Attempt {
    pub held: HeldJob,
    pub lease: Lease,
    pub began_at: Instant,
    slots: Slots,
    /// The job without its payload, until whoever ends the attempt takes it.
    ticket: Mutex<Option<ClaimedJob>>,
    looks: AtomicU8,
}

impl Attempt {
    pub(super) fn new(held: HeldJob, ticket: ClaimedJob, slots: Slots, lease: Lease) -> Self {
        let ticket = Mutex::new(Some(ticket));
        Self { held, lease, began_at: Instant::now(), slots, ticket, looks: AtomicU8::new(0) }
    }

    /// When its time is over, as far as is known now: waiting for a slot does not count.
    pub(super) fn deadline(&self) -> Instant {
        let margin = if self.slots.is_limited() { TIMEOUT_MARGIN + SLOT_MARGIN } else { TIMEOUT_MARGIN };
        self.began_at + self.held.timeout + margin + self.slots.waited() + self.held.time_off()
    }

    /// Ends the attempt: the job, and what may have arrived. None: it was ended before, and what is said now is too late.
    pub(super) fn end(&self) -> Option<(ClaimedJob, Option<Doubt>)> {
        let ticket = self.ticket.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some((ticket, self.held.take_doubt()))
    }
}

/// All of them.
#[derive(Default)]
pub(super) struct Attempts {
    under_way: Mutex<HashMap<AssignmentId, Arc<Attempt>>>,
    blocked: AtomicUsize,
}

impl Attempts {
    pub(super) fn add(&self, attempt: &Arc<Attempt>) {
        self.lock().insert(attempt.held.assignment_id, Arc::clone(attempt));
    }

    pub(super) fn remove(&self, assignment_id: AssignmentId) {
        let removed = self.lock().remove(&assignment_id);
        // What the handler left in it is dropped outside the lock.
        drop(removed);
    }

    /// Those whose time is over and whose own task does not end them. Of a lost lease nothing can be recorded.
    pub(super) fn overdue(&self, now: Instant) -> Vec<Arc<Attempt>> {
        let has_its_turn = |attempt: &&Arc<Attempt>| {
            attempt.deadline() <= now
                && !attempt.lease.lost.is_cancelled()
                && attempt.looks.fetch_add(1, Ordering::Relaxed) + 1 >= PATIENT_LOOKS
        };
        self.lock().values().filter(has_its_turn).cloned().collect()
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

    fn lock(&self) -> MutexGuard<'_, HashMap<AssignmentId, Arc<Attempt>>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
