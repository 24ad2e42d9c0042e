//! The permission to send for a job, and the note of what may have arrived.

use crate::mutex::lock;
use crate::worker::limit::{Slot, Slots};
use model::id::IntegrationId;
use std::any::Any;
use std::sync::{Arc, Mutex};

/// A handler's own note of what may have arrived, which only the handler can read.
pub(crate) type Uncertain = Box<dyn Any + Send + Sync>;

/// The permission to send for a job, for a task that sends for several jobs and outlives their handlers.
#[derive(Clone)]
pub struct SendPermit {
    integration_id: IntegrationId,
    slots: Slots,
    uncertain: Arc<Mutex<UncertainState>>,
}

/// What may have arrived, until the attempt has ended.
#[derive(Default)]
struct UncertainState {
    value: Option<Uncertain>,
    /// A task sends it together with other jobs: this attempt cannot stop a request that is on its way.
    is_carried: bool,
    has_ended: bool,
}

impl SendPermit {
    pub(super) fn new(integration_id: IntegrationId, slots: Slots) -> Self {
        Self { integration_id, slots, uncertain: Arc::default() }
    }

    /// As [`LeasedJob::slot`](crate::worker::LeasedJob::slot). One slot is one request, however many jobs it carries.
    pub async fn slot(&self) -> Slot {
        self.slots.next(self.integration_id).await
    }

    /// As [`LeasedJob::mark_uncertain`](crate::worker::LeasedJob::mark_uncertain). False: the attempt has ended meanwhile, and nothing may be sent for it any more. True: it goes on until its
    /// handler has returned, even if the job is cancelled, so that no other attempt starts while this one's request is on its way.
    #[must_use]
    pub fn mark_uncertain(&self, uncertain: Uncertain) -> bool {
        // An attempt whose lease is lost is about to be stopped.
        let may_send = !self.slots.is_lease_lost() && self.set(uncertain);
        lock(&self.uncertain).is_carried |= may_send;
        may_send
    }

    /// Notes the value, unless the attempt has ended: false.
    pub(super) fn set(&self, uncertain: Uncertain) -> bool {
        let mut state = lock(&self.uncertain);
        if !state.has_ended {
            state.value = Some(uncertain);
        }
        !state.has_ended
    }

    /// As [`LeasedJob::clear_uncertain`](crate::worker::LeasedJob::clear_uncertain).
    pub fn clear_uncertain(&self) {
        drop(lock(&self.uncertain).value.take());
    }

    /// Takes the permission back. False if a task is already sending for the job and others: then the handler must be awaited.
    pub(super) fn withdraw(&self) -> bool {
        let mut state = lock(&self.uncertain);
        state.has_ended |= !state.is_carried;
        state.has_ended
    }

    /// Ends the permission, and returns what may have arrived.
    pub(super) fn end(&self) -> Option<Uncertain> {
        let mut state = lock(&self.uncertain);
        state.has_ended = true;
        state.value.take()
    }
}
