//! A running attempt, and how it can be ended: once, by whoever takes its ticket first.

use crate::mutex::lock;
use crate::store::jobs::ClaimedJob;
use crate::worker::handler::{LeasedJob, Uncertain};
use crate::worker::lease::Lease;
use crate::worker::limit::Slots;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::{sync::Notify, time::Instant};

/// Added to the job's time-out, so that the handler's own time-outs, which can say more, come first.
const TIMEOUT_MARGIN: Duration = Duration::from_millis(250);
/// A job with rate limits waits for slots during its attempt; that wait is added to its time afterwards.
const SLOT_MARGIN: Duration = Duration::from_secs(1);
pub(crate) struct Attempt {
    pub job: LeasedJob,
    pub lease: Arc<Lease>,
    pub began_at: Instant,
    slots: Slots,
    /// The job without its payload; whoever takes it ends the attempt.
    ticket: Mutex<Option<ClaimedJob>>,
    overdue_checks: AtomicU8,
    cancelled: Notify,
    is_cancel_requested: AtomicBool,
}

impl Attempt {
    pub(crate) fn new(job: LeasedJob, ticket: ClaimedJob, slots: Slots, lease: Arc<Lease>) -> Self {
        let ticket = Mutex::new(Some(ticket));
        Self {
            job,
            lease,
            began_at: Instant::now(),
            slots,
            ticket,
            overdue_checks: AtomicU8::new(0),
            cancelled: Notify::new(),
            is_cancel_requested: AtomicBool::new(false),
        }
    }

    /// When it times out, as far as is known now: waiting for a slot does not count.
    pub(crate) fn deadline(&self) -> Instant {
        let margin = if self.slots.is_limited() { TIMEOUT_MARGIN + SLOT_MARGIN } else { TIMEOUT_MARGIN };
        self.began_at + self.job.timeout + margin + self.slots.waited() + self.job.time_off()
    }

    /// Returns when its job is cancelled and the handler may be stopped. Once a request that it shares with other jobs is on its way, the handler is
    /// not stopped: the response ends the attempt.
    pub(crate) async fn cancelled(&self) {
        loop {
            self.cancelled.notified().await;
            if self.job.stop() {
                return;
            }
        }
    }

    /// Asks for the handler to be stopped; true for the first request. Every heartbeat repeats it, for handlers that could not be stopped before.
    pub(super) fn request_cancel(&self) -> bool {
        self.cancelled.notify_one();
        !self.is_cancel_requested.swap(true, Ordering::Relaxed)
    }

    /// Whether its end was recorded, or is about to be, although its handler has not returned.
    pub(super) fn has_ended(&self) -> bool {
        lock(&self.ticket).is_none()
    }

    /// Counts a check that found it overdue; returns how many there were.
    pub(super) fn count_overdue_check(&self) -> u8 {
        self.overdue_checks.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Ends the attempt. Returns the job and what may have arrived; none if it was ended before, and the caller is too late.
    pub(crate) fn end(&self) -> Option<(ClaimedJob, Option<Uncertain>)> {
        let ticket = lock(&self.ticket).take()?;
        Some((ticket, self.job.end()))
    }
}
