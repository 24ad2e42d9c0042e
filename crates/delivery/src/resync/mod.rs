//! Re-syncs: sending an integration its catalog again, whole or in part.
//!
//! The leader reads the catalog in portions of a thousand keys, each in one transaction with the jobs made of it and the cursor of the next
//! portion: a re-sync survives restarts and never makes a job twice. Its jobs are items of a batch and run after live changes. A record that
//! waits to be sent anyway is not sent twice: its job is moved into the batch and set to send the whole record.
//!
//! While a re-sync is paused, its waiting jobs are parked (`queue::store::jobs::park_batch`): the first portion in the request that
//! pauses it, the others by the leader, or by a claim that finds them before. No job begins once the re-sync's state is `paused`. Resuming
//! works the same way. A cancelled re-sync is paused as well until its last job has ended. Jobs that are running may finish, and are parked
//! when they are to be retried. A job that includes a live change is not parked.

mod control;
mod portion;
mod service;
mod start;

pub(crate) use service::Resyncs;

use model::actor::Scope;
use model::id::{IntegrationId, ResyncId};
use model::page::{Page, PageRequest};
use model::resync::Resync;

use crate::{Delivery, DeliveryError, store};

/// Keys read, or jobs parked, resumed or cancelled, at a time.
const PORTION: i64 = 1_000;

impl Delivery {
    /// Lists re-syncs, newest first.
    pub async fn resyncs(
        &self,
        scope: Scope,
        integration_id: Option<IntegrationId>,
        page: PageRequest,
    ) -> Result<Page<Resync>, DeliveryError> {
        store::resyncs::list(&self.pool, scope, integration_id, page).await
    }

    /// One re-sync.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn resync(&self, scope: Scope, id: ResyncId) -> Result<Resync, DeliveryError> {
        store::resyncs::get(&self.pool, scope, id).await
    }
}
