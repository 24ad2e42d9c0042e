//! The jobs that occupy a slot of this process.

use crate::mutex::lock;
use model::id::{AssignmentId, IntegrationId};
use std::{collections::HashMap, sync::Mutex};
use tokio::sync::Notify;

#[derive(Default)]
pub(crate) struct RunningJobs {
    lanes: Mutex<HashMap<AssignmentId, IntegrationId>>,
    /// A slot became free, which makes a claim possible if all were taken.
    slot_freed: Notify,
    /// A job left the process, or its result did: a shutdown waits for this.
    left: Notify,
}

impl RunningJobs {
    pub(crate) fn add(&self, leases: &[(AssignmentId, IntegrationId)]) {
        lock(&self.lanes).extend(leases.iter().copied());
    }

    /// Frees the slot of a job that does not run any more.
    pub(crate) fn free_slot(&self, assignment_id: AssignmentId) {
        lock(&self.lanes).remove(&assignment_id);
        self.note_left();
    }

    /// Something that occupied a slot is gone: a job, its result, or a handler that blocked its thread.
    pub(crate) fn note_left(&self) {
        self.left.notify_one();
        self.slot_freed.notify_one();
    }

    pub(crate) fn count(&self) -> usize {
        lock(&self.lanes).len()
    }

    pub(crate) fn assignments(&self) -> Vec<AssignmentId> {
        lock(&self.lanes).keys().copied().collect()
    }

    pub(crate) fn by_lane(&self) -> HashMap<IntegrationId, usize> {
        let mut busy = HashMap::new();
        for lane in lock(&self.lanes).values() {
            *busy.entry(*lane).or_default() += 1;
        }
        busy
    }

    pub(crate) async fn slot_freed(&self) {
        self.slot_freed.notified().await;
    }

    pub(crate) async fn left(&self) {
        self.left.notified().await;
    }
}
