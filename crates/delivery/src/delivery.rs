//! [`Delivery`], the API of this crate.

use std::sync::Arc;

use model::actor::Scope;
use model::id::{AppId, IntegrationId};
use model::integration::{Integration, IntegrationType};
use model::page::Page;
use model::record::{Record, RecordFilter, RecordWithSync, SentFilter, SentRecord};
use model::record_page::RecordPageRequest;
use model::retention::Retentions;
use queue::Waker;
use queue::maintenance::Service;
use queue::worker::{AttemptHandler, Engine};
use sqlx::PgPool;

use crate::{
    DeliveryConfig, DeliveryError, Marks, MasterKey, RecordCounts, TargetGuard, catalog::GroupCommit,
    connector, http::client::Client, services, store,
};

/// Everything about apps, integrations, records and re-syncs. Cheap to clone.
///
/// Methods that change something take a connection, so that the caller writes its audit line in the same transaction; call
/// [`Self::wake`] after the commit of changes that make jobs claimable. `accept_*` and `enqueue_*` do both themselves.
#[derive(Clone)]
pub struct Delivery {
    /// The connections that all methods without a connection of their own use.
    pub pool: PgPool,
    pub(crate) key: MasterKey,
    pub(crate) client: Client,
    pub(crate) config: Arc<DeliveryConfig>,
    pub(crate) waker: Waker,
    pub(crate) group_commit: Arc<GroupCommit>,
    pub(crate) material_reader: Arc<connector::MaterialReader>,
}

impl Delivery {
    /// Sets up the HTTP client; does not connect to the database yet.
    ///
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
        let material_reader = Arc::new(connector::MaterialReader::new(&pool));
        Ok(Self {
            pool,
            key,
            client,
            config: Arc::new(config),
            waker,
            group_commit: Arc::default(),
            material_reader,
        })
    }

    /// The same with another pool: API requests must not take the connections that jobs need.
    #[must_use]
    pub fn with_pool(self, pool: PgPool) -> Self {
        Self { pool, group_commit: Arc::default(), ..self }
    }

    /// Notifies the workers that there may be work: after the commit of a resume, a changed limit, a re-sync.
    pub fn wake(&self) {
        self.waker.wake();
    }

    /// Wakes the engine of this process directly, not through the database.
    pub fn wake_directly(&self, engine: &Engine) {
        self.waker.wake_directly(engine);
    }

    /// The handler that runs the jobs of integrations.
    #[must_use]
    pub fn handler(&self) -> Arc<dyn AttemptHandler> {
        Arc::new(connector::DeliveryHandler::new(self.clone()))
    }

    /// The maintenance services of apps, integrations and records, which the leader runs.
    #[must_use]
    pub fn services(&self, kept: Retentions) -> Vec<Arc<dyn Service>> {
        services::services(self, kept)
    }

    /// Lists the catalog in the order of app, type and id.
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
    /// `NotFound`.
    pub async fn record(
        &self,
        scope: Scope,
        app_id: AppId,
        record_type: &str,
        record_id: &str,
    ) -> Result<RecordWithSync, DeliveryError> {
        store::records::get(&self.pool, scope, app_id, record_type, record_id).await
    }

    /// Lists the data last sent, in the order of type and id.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn sent(
        &self,
        scope: Scope,
        id: IntegrationId,
        filter: &SentFilter,
        page: &RecordPageRequest,
    ) -> Result<Page<SentRecord>, DeliveryError> {
        store::integrations::get(&self.pool, scope, id).await?;
        store::sent::list(&self.pool, scope, id, filter, page).await
    }

    /// Last success and failure, oldest claimable job and tightest limit of an integration that is known to be in scope.
    pub async fn marks(&self, id: IntegrationId) -> Result<Marks, DeliveryError> {
        store::marks::read(&self.pool, id).await
    }

    /// How many records an integration should have, and how many it has. Nothing is sent to an external one, so it has none.
    pub async fn record_counts(&self, integration: &Integration) -> Result<RecordCounts, DeliveryError> {
        if integration.integration_type == IntegrationType::External {
            return Ok(RecordCounts { total: 0, in_sync: 0 });
        }
        let types = integration.record_types.as_deref();
        store::record_counts::read(&self.pool, integration.app_id, integration.id, types).await
    }
}
