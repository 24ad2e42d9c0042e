//! What all use cases share: the crates below, their pools, and the live numbers of this process.

use access::Access;
use delivery::Delivery;
use insight::live::LiveHub;
use model::{retention::Retentions, stats::Snapshot};
use sqlx::PgPool;
use std::sync::Arc;

use crate::ServiceError;

/// The use cases. Cheap to clone.
#[derive(Clone)]
pub struct Headgate {
    pub(crate) delivery: Delivery,
    pub(crate) access: Access,
    pub(crate) lists: PgPool,
    pub(crate) live: LiveHub,
    pub(crate) retentions: Retentions,
}

/// What the use cases are made of.
pub struct Parts {
    /// With the pool of requests, not the engine's, whose connections belong to jobs.
    pub delivery: Delivery,
    /// With the same pool.
    pub access: Access,
    /// For lists and searches: it has a statement timeout of some seconds, and may be a replica's. Never for a decision.
    pub lists: PgPool,
    /// The live numbers of this process.
    pub live: LiveHub,
    /// How long everything is kept.
    pub retentions: Retentions,
}

impl Headgate {
    /// The use cases on these parts.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let Parts { delivery, access, lists, live, retentions } = parts;
        Self { delivery, access, lists, live, retentions }
    }

    /// The same, with this pool for everything.
    #[must_use]
    pub fn with_pool(&self, pool: &PgPool) -> Self {
        Self {
            delivery: self.delivery.clone().with_pool(pool.clone()),
            access: self.access.clone().with_pool(pool.clone()),
            lists: pool.clone(),
            ..self.clone()
        }
    }

    /// Notifies the workers that there may be work: after the commit of a transaction that a use case ran in.
    pub fn wake(&self) {
        self.delivery.wake();
    }

    /// Turns credentials into actors. Whoever signs in has no permission yet that a use case could ask for.
    #[must_use]
    pub const fn access(&self) -> &Access {
        &self.access
    }

    /// For what is decided and written.
    pub(crate) const fn pool(&self) -> &PgPool {
        &self.delivery.pool
    }

    /// Lists of integrations, records and the like.
    pub(crate) fn delivery_lists(&self) -> Delivery {
        self.delivery.clone().with_pool(self.lists.clone())
    }

    /// Lists of users and keys.
    pub(crate) fn access_lists(&self) -> Access {
        self.access.clone().with_pool(self.lists.clone())
    }

    /// The numbers of all integrations, at most a second old.
    pub(crate) async fn snapshot(&self) -> Result<Arc<Snapshot>, ServiceError> {
        Ok(self.live.snapshot(&self.lists).await?)
    }
}
