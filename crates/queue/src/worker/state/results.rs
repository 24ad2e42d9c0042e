//! The results that are not recorded yet, counted.

use crate::worker::state::{Meters, RunningJobs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::sync::{Notify, watch};

pub(crate) struct Results {
    running: Arc<RunningJobs>,
    meters: Arc<Meters>,
    unrecorded: AtomicUsize,
    /// How many unrecorded results wait for a row that is locked by another transaction.
    locked_elsewhere: AtomicUsize,
    /// Ends recorded since the start: tests wait for this.
    recorded: watch::Sender<u64>,
    /// Results were recorded, which makes a claim possible if something claimable was left because its lane was full.
    lanes_emptied: Notify,
    /// The claimer waits for results: it can claim more once they are recorded.
    is_awaited: AtomicBool,
}

impl Results {
    pub(crate) fn new(running: Arc<RunningJobs>, meters: Arc<Meters>) -> Self {
        Self {
            running,
            meters,
            unrecorded: AtomicUsize::new(0),
            locked_elsewhere: AtomicUsize::new(0),
            recorded: watch::Sender::new(0),
            lanes_emptied: Notify::new(),
            is_awaited: AtomicBool::new(false),
        }
    }

    pub(crate) fn unrecorded(&self) -> usize {
        self.unrecorded.load(Ordering::Relaxed)
    }

    pub(crate) fn add_unrecorded(&self) {
        // Results locked elsewhere do not move, however fast we record.
        if self.unrecorded.fetch_add(1, Ordering::Relaxed) <= self.locked_elsewhere() {
            self.meters.results_move();
        }
    }

    pub(crate) fn locked_elsewhere(&self) -> usize {
        self.locked_elsewhere.load(Ordering::Relaxed)
    }

    pub(crate) fn set_locked_elsewhere(&self, count: usize) {
        self.locked_elsewhere.store(count, Ordering::Relaxed);
    }

    pub(crate) fn note_recorded(&self, count: usize) {
        self.unrecorded.fetch_sub(count, Ordering::Relaxed);
        self.meters.results_move();
        self.recorded.send_modify(|recorded| *recorded += count as u64);
        self.lanes_emptied.notify_one();
        self.running.note_left();
    }

    pub(crate) fn recorded(&self) -> watch::Receiver<u64> {
        self.recorded.subscribe()
    }

    /// Whether results are to be recorded at once because no more of them can come.
    pub(crate) fn are_urgent(&self) -> bool {
        self.is_awaited.load(Ordering::Relaxed) && self.running.count() == 0
    }

    pub(crate) fn begin_awaiting(&self) {
        self.is_awaited.store(true, Ordering::Relaxed);
    }

    pub(crate) fn end_awaiting(&self) {
        self.is_awaited.store(false, Ordering::Relaxed);
    }

    pub(crate) async fn lanes_emptied(&self) {
        self.lanes_emptied.notified().await;
    }
}
