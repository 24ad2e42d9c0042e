//! What wakes the claimer: there may be work.

use crate::mutex::lock;
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;
use uuid::Uuid;

/// Wakes the claimer of this process.
#[derive(Default)]
pub(crate) struct WakeUps {
    work: Arc<Notify>,
    /// Wakers of this process, which notify `work` directly.
    wakers: Mutex<Vec<Uuid>>,
}

impl WakeUps {
    /// There may be work.
    pub(crate) fn wake(&self) {
        self.work.notify_one();
    }

    pub(crate) async fn woken(&self) {
        self.work.notified().await;
    }

    /// What a waker of this process notifies. Its notifications through the database are ignored from now on.
    pub(crate) fn add_waker(&self, waker: Uuid) -> Arc<Notify> {
        lock(&self.wakers).push(waker);
        Arc::clone(&self.work)
    }

    /// Whether a notification comes from a waker that has notified `work` already.
    pub(crate) fn is_own_waker(&self, payload: &str) -> bool {
        Uuid::try_parse(payload).is_ok_and(|waker| lock(&self.wakers).contains(&waker))
    }
}
