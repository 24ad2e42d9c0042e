//! The door to everything about integrations.

use std::sync::Arc;

use model::{
    actor::Scope,
    id::AppId,
    page::Page,
    record::{Record, RecordWithSync},
};
use queue::{
    Waker,
    maintenance::Service,
    worker::{AttemptHandler, EngineHandle},
};
use sqlx::PgPool;

use crate::{
    DeliveryConfig, DeliveryError, MasterKey, RecordFilter, RecordPageRequest, TargetGuard,
    catalog::Gathering, connector, http::client::Client, resync, store,
};

/// The door to everything about integrations. Cheap to clone.
///
/// What changes something takes a connection, so that the caller's audit line stands in the same transaction; call
/// [`Self::wake`] after the commit of what makes jobs claimable. `accept_*` and `enqueue_*` do both themselves.
#[derive(Clone)]
pub struct Delivery {
    /// Where everything is kept.
    pub pool: PgPool,
    pub(crate) key: MasterKey,
    pub(crate) client: Client,
    pub(crate) config: Arc<DeliveryConfig>,
    pub(crate) waker: Waker,
    pub(crate) gathering: Arc<Gathering>,
    pub(crate) reading: Arc<connector::Reading>,
}

impl Delivery {
    /// # Errors
    /// When the HTTP client cannot be set up.
    pub fn new(
        pool: PgPool,
        key: MasterKey,
        guard: TargetGuard,
        config: DeliveryConfig,
        waker: Waker,
    ) -> Result<Self, DeliveryError> {
        let client = Client::new(guard, &config.user_agent)?;
        let reading = Arc::new(connector::Reading::new(&pool));
        Ok(Self { pool, key, client, config: Arc::new(config), waker, gathering: Arc::default(), reading })
    }

    /// The same with other connections: requests must not take those that jobs run with.
    #[must_use]
    pub fn with_pool(self, pool: PgPool) -> Self {
        Self { pool, gathering: Arc::default(), ..self }
    }

    /// Tells the workers that there may be work: after the commit of a resume, a changed limit, a re-sync.
    pub fn wake(&self) {
        self.waker.jobs_added();
    }

    /// Wakes the engine of this process without a way through the database.
    pub fn wake_directly(&self, engine: &EngineHandle) {
        self.waker.wake_directly(engine);
    }

    /// Does the jobs of integrations.
    #[must_use]
    pub fn handler(&self) -> Arc<dyn AttemptHandler> {
        Arc::new(connector::DeliveryHandler::new(self.clone()))
    }

    /// What the leader does for integrations.
    #[must_use]
    pub fn services(&self) -> Vec<Arc<dyn Service>> {
        resync::services(self)
    }

    /// The catalog, in the order of app, type and id.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub async fn records(
        &self,
        scope: Scope,
        filter: &RecordFilter,
        page: &RecordPageRequest,
    ) -> Result<Page<Record>, DeliveryError> {
        store::records::list(&self.pool, scope, filter, page).await
    }

    /// One record with the state of each integration.
    ///
    /// # Errors
    /// When there is none in the scope.
    pub async fn record(
        &self,
        scope: Scope,
        app_id: AppId,
        record_type: &str,
        record_id: &str,
    ) -> Result<RecordWithSync, DeliveryError> {
        store::records::get(&self.pool, scope, app_id, record_type, record_id).await
    }
}
