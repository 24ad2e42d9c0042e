//! Re-syncs: sending an integration its catalog again, whole or in part.
//!
//! The catalog is read in portions of a thousand keys, by the leader, each in one transaction with the jobs made of it and the place
//! where the next portion begins: a re-sync survives restarts and never makes a job twice. Its jobs are items of a batch and stand behind
//! live changes. A record that waits to be sent anyway is not sent twice: its job is moved into the batch and told to send everything.
//!
//! While a re-sync is paused, its waiting jobs are held (`queue::store::jobs::hold_of_batch`): the first portion in the request that
//! pauses it, the others by the leader, as jobs are let go when it is resumed, or by a claim that meets them before: nothing of it begins once
//! it says that it is paused. One that is called off is paused as well until its last job has ended. What is on its way may finish, and
//! is held when it comes back to be tried again. A job that stands for a live change too is not held.

mod chunk;
mod service;
mod start;
mod steer;

use std::sync::Arc;

use model::{
    actor::Scope,
    id::{IntegrationId, ResyncId},
    page::{Page, PageRequest},
    resync::Resync,
};
use queue::maintenance::Service;

use crate::{Delivery, DeliveryError, store};

/// What the leader does for integrations.
pub(crate) fn services(delivery: &Delivery) -> Vec<Arc<dyn Service>> {
    vec![Arc::new(service::Resyncs::new(delivery.clone()))]
}

impl Delivery {
    /// Newest first.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub async fn resyncs(
        &self,
        scope: Scope,
        integration_id: Option<IntegrationId>,
        page: PageRequest,
    ) -> Result<Page<Resync>, DeliveryError> {
        store::resyncs::list(&self.pool, scope, integration_id, page).await
    }

    /// # Errors
    /// When there is none in the scope.
    pub async fn resync(&self, scope: Scope, id: ResyncId) -> Result<Resync, DeliveryError> {
        store::resyncs::get(&self.pool, scope, id).await
    }
}
