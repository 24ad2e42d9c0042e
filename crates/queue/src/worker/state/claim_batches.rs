//! Claim batches tell lease recovery which jobs this process had, should it die. The heartbeat deletes them once all their jobs have been recorded.

use crate::mutex::lock;
use model::id::{AssignmentId, ClaimBatchId};
use std::{collections::HashMap, sync::Mutex};

#[derive(Default)]
pub(crate) struct ClaimBatches(Mutex<Batches>);

#[derive(Default)]
struct Batches {
    /// With the number of jobs of which something is still to be written.
    open: HashMap<ClaimBatchId, usize>,
    done: Vec<ClaimBatchId>,
    /// Jobs whose end could not be written at all: still this worker's in the database, but running nowhere.
    stuck: HashMap<AssignmentId, ClaimBatchId>,
}

impl ClaimBatches {
    pub(crate) fn add(&self, batch_id: ClaimBatchId, jobs: usize) {
        if jobs > 0 {
            *lock(&self.0).open.entry(batch_id).or_default() += jobs;
        }
    }

    /// Counts a job of a claim batch of which nothing more will be written.
    pub(crate) fn job_done(&self, batch_id: ClaimBatchId) {
        let mut batches = lock(&self.0);
        if let Some(open) = batches.open.get_mut(&batch_id) {
            *open -= 1;
            if *open == 0 {
                batches.open.remove(&batch_id);
                batches.done.push(batch_id);
            }
        }
    }

    /// Never deletes this batch, because lease recovery has to find a job of it.
    pub(crate) fn keep(&self, batch_id: ClaimBatchId) {
        lock(&self.0).open.remove(&batch_id);
    }

    /// Notes a job whose end could not be written: it is released when claims without an answer are reconciled.
    pub(crate) fn note_stuck(&self, assignment_id: AssignmentId, batch_id: ClaimBatchId) {
        lock(&self.0).stuck.insert(assignment_id, batch_id);
    }

    /// Jobs whose end could not be written, and their claim batches.
    pub(crate) fn stuck(&self) -> HashMap<AssignmentId, ClaimBatchId> {
        lock(&self.0).stuck.clone()
    }

    /// They have been released.
    pub(crate) fn forget_stuck(&self, released: &[AssignmentId]) {
        for assignment_id in released {
            let batch = lock(&self.0).stuck.remove(assignment_id);
            if let Some(batch_id) = batch {
                self.job_done(batch_id);
            }
        }
    }

    pub(crate) fn known(&self) -> Vec<ClaimBatchId> {
        let batches = lock(&self.0);
        batches.open.keys().chain(&batches.done).copied().collect()
    }

    /// Claim batches whose jobs have all been recorded.
    pub(crate) fn done(&self) -> Vec<ClaimBatchId> {
        lock(&self.0).done.clone()
    }

    pub(crate) fn forget(&self, deleted: &[ClaimBatchId]) {
        lock(&self.0).done.retain(|id| !deleted.contains(id));
    }
}
