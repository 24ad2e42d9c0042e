//! The current lease of this process. A lost one is replaced by the next.

use super::Lease;
use crate::mutex::lock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::{Notify, watch};

pub(crate) struct ProcessLease {
    current: Mutex<Arc<Lease>>,
    /// Whether the lease is in the database; nothing is claimed before.
    is_registered: watch::Sender<bool>,
    is_draining: AtomicBool,
    lost: AtomicU64,
    /// Notifications of cancel requests may have been missed.
    recheck_cancels: Notify,
}

impl ProcessLease {
    pub(crate) fn new() -> Self {
        Self {
            current: Mutex::new(Arc::new(Lease::new())),
            is_registered: watch::Sender::new(false),
            is_draining: AtomicBool::new(false),
            lost: AtomicU64::new(0),
            recheck_cancels: Notify::new(),
        }
    }

    pub(crate) fn current(&self) -> Arc<Lease> {
        Arc::clone(&lock(&self.current))
    }

    /// Ends the lease: its jobs are stopped and forgotten. The next registration has another worker id, so that lease recovery can never mistake its
    /// jobs for those of this lease.
    pub(crate) fn lose(&self) {
        self.is_registered.send_replace(false);
        let old = std::mem::replace(&mut *lock(&self.current), Arc::new(Lease::new()));
        old.lose();
        self.lost.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(worker.id = %old.worker_id, "worker {} lost its lease: its jobs are left to others", old.worker_id);
    }

    /// Leases lost since the start.
    pub(crate) fn lost_count(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    pub(crate) fn is_registered(&self) -> bool {
        *self.is_registered.borrow()
    }

    pub(crate) fn set_registered(&self) {
        self.is_registered.send_replace(true);
    }

    pub(crate) fn watch_registered(&self) -> watch::Receiver<bool> {
        self.is_registered.subscribe()
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }

    /// Whether an operator asked that nothing more is claimed.
    pub(crate) fn set_draining(&self, is_draining: bool) {
        self.is_draining.store(is_draining, Ordering::Relaxed);
    }

    /// Asks the heartbeat for the cancel requests of running jobs.
    pub(crate) fn recheck_cancels(&self) {
        self.recheck_cancels.notify_one();
    }

    pub(crate) async fn cancels_to_recheck(&self) {
        self.recheck_cancels.notified().await;
    }
}
