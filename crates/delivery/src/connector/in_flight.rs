//! A request that is on its way: whatever ends the attempt before its answer was judged (the time-out, a shutdown, a lost lease), it is
//! remembered that the request may have arrived.

use model::id::IntegrationId;
use sqlx::PgPool;

use crate::store::{material::Unsure, sent};

/// What a request tells of which record. Dropped while armed, it is remembered as told perhaps.
pub(super) struct InFlight {
    told: Option<Told>,
}

struct Told {
    pool: PgPool,
    integration_id: IntegrationId,
    record_type: String,
    record_id: String,
    /// None: all of them, or a deletion.
    attributes: Option<Vec<String>>,
}

impl InFlight {
    /// Nothing to remember: the job is not about a record.
    pub(super) fn of_no_record() -> Self {
        Self { told: None }
    }

    /// `known`: what is remembered already and need not be written again.
    pub(super) fn of_record(
        pool: PgPool,
        integration_id: IntegrationId,
        record: &(String, String),
        attributes: Option<Vec<String>>,
        known: Option<&Unsure>,
    ) -> Self {
        let is_known = known.is_some_and(|known| known.is_stored && covers(known, attributes.as_deref()));
        let (record_type, record_id) = record.clone();
        let told = Told { pool, integration_id, record_type, record_id, attributes };
        Self { told: (!is_known).then_some(told) }
    }

    /// It was answered, and the answer says that it was taken in, or that it was not.
    pub(super) fn settled(mut self) {
        self.told = None;
    }

    /// It may have arrived: waits until that is written.
    pub(super) async fn unsettled(mut self) {
        if let Some(told) = self.told.take() {
            // In a task of its own, like the drop: an attempt that is dropped now must not take the write with it.
            let _ = tokio::spawn(told.remember()).await;
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if let (Some(told), Ok(runtime)) = (self.told.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(told.remember());
        }
    }
}

impl Told {
    async fn remember(self) {
        let record = (self.record_type.as_str(), self.record_id.as_str());
        let attributes = self.attributes.as_deref();
        if let Err(error) = sent::remember_unsure(&self.pool, self.integration_id, record, attributes).await {
            let id = self.integration_id;
            tracing::warn!(integration.id = %id, %error, "what may have arrived at integration {id} was not remembered");
        }
    }
}

fn covers(known: &Unsure, attributes: Option<&[String]>) -> bool {
    match (&known.attributes, attributes) {
        (None, _) => true,
        (Some(known), Some(told)) => told.iter().all(|name| known.contains(name)),
        (Some(_), None) => false,
    }
}
