//! A deployment with one app.

use std::time::Duration;

use access::Access;
use delivery::{Delivery, DeliveryConfig, DeliveryError, MasterKey, TargetGuard};
use insight::live::LiveHub;
use model::actor::{Actor, ActorKind, Role, Scope};
use model::app::NewApp;
use model::attributes::Attributes;
use model::event::{Accepted, Event};
use model::filter::JobFilter;
use model::id::{AppId, IntegrationId};
use model::integration::{Integration, IntegrationWithSecret};
use model::integration_settings::NewIntegration;
use model::job::Job;
use model::page::PageRequest;
use model::record::{SentFilter, SentRecord};
use model::record_page::RecordPageRequest;
use model::retention::Retentions;
use model::rules::backoff::{Backoff, RetrySchedule};
use model::sync_status::SyncStatus;
use queue::worker::{Engine, Handlers};
use queue::{EngineConfig, Waker};
use serde_json::{Value, json};
use service::{Allowed, Headgate, ServiceError};
use sqlx::PgPool;
use tokio_util::sync::CancellationToken;

pub(crate) struct World {
    pub(crate) pool: PgPool,
    pub(crate) delivery: Delivery,
    pub(crate) app: AppId,
    pub(crate) scope: Scope,
    key: MasterKey,
}

impl World {
    pub(crate) async fn new(pool: PgPool) -> Self {
        let config = DeliveryConfig { resync_cool_down: Duration::ZERO, ..DeliveryConfig::default() };
        Self::with(pool, config, &["127.0.0.0/8"]).await
    }

    pub(crate) async fn with(pool: PgPool, config: DeliveryConfig, allowed: &[&str]) -> Self {
        queue::store::partitions::make_ahead(&pool).await.unwrap();
        let key = MasterKey::generate();
        let delivery = build(&pool, &key, config, allowed);
        let mut conn = pool.acquire().await.unwrap();
        let app =
            delivery.create_app(&mut conn, NewApp { name: "Nordwind".into(), slug: None }).await.unwrap();
        Self { pool, delivery, app: app.id, scope: Scope::App(app.id), key }
    }

    /// The same deployment, restarted with other allowed targets.
    pub(crate) fn restarted(&self, allowed: &[&str]) -> Self {
        let delivery = build(&self.pool, &self.key, DeliveryConfig::default(), allowed);
        Self { pool: self.pool.clone(), delivery, key: self.key.clone(), ..*self }
    }

    pub(crate) async fn try_integration(
        &self,
        fields: Value,
    ) -> Result<IntegrationWithSecret, DeliveryError> {
        let mut body = json!({"app_id": self.app, "name": "Shop", "integration_type": "webhook"});
        for (name, value) in object(fields) {
            body[name] = value;
        }
        let new: NewIntegration = serde_json::from_value(body).unwrap();
        let mut transaction = self.pool.begin().await.unwrap();
        let made = self.delivery.create_integration(&mut transaction, self.scope, new).await?;
        transaction.commit().await.unwrap();
        Ok(made)
    }

    pub(crate) async fn integration(&self, fields: Value) -> IntegrationId {
        self.try_integration(fields).await.unwrap().integration.id
    }

    /// As `PATCH` does, except what follows the commit.
    pub(crate) async fn try_patch(
        &self,
        id: IntegrationId,
        changes: Value,
    ) -> Result<Integration, DeliveryError> {
        let changes = serde_json::from_value(changes).unwrap();
        let mut transaction = self.pool.begin().await.unwrap();
        let changed = self.delivery.update_integration(&mut transaction, self.scope, id, changes).await?;
        transaction.commit().await.unwrap();
        Ok(changed)
    }

    pub(crate) async fn patch(&self, id: IntegrationId, changes: Value) -> Integration {
        self.try_patch(id, changes).await.unwrap()
    }

    pub(crate) fn event(&self, fields: Value) -> Event {
        let mut body =
            json!({"app_id": self.app, "type": "record.updated", "record_type": "product", "record_id": "1"});
        for (name, value) in object(fields) {
            body[name] = value;
        }
        serde_json::from_value(body).unwrap()
    }

    /// Accepts events; each is `record.updated` of product 1 unless it says otherwise.
    pub(crate) async fn accept(&self, events: impl IntoIterator<Item = Value>) -> Accepted {
        let events = events.into_iter().map(|fields| self.event(fields)).collect();
        self.delivery.accept_events(self.scope, events).await.unwrap()
    }

    /// Sets attributes of product 1.
    pub(crate) async fn set(&self, attributes: Value) -> Accepted {
        self.accept([json!({"attributes": attributes})]).await
    }

    pub(crate) fn run(&self) -> Running {
        self.run_with(|_| {})
    }

    /// Runs an engine with another configuration.
    pub(crate) fn run_with(&self, change: impl FnOnce(&mut EngineConfig)) -> Running {
        let mut config = EngineConfig {
            workers: 8,
            poll_interval: Duration::from_millis(50),
            backoff: Backoff {
                schedule: RetrySchedule::Steps(vec![Duration::from_millis(400)]),
                jitter: 0.0,
            },
            ..EngineConfig::default()
        };
        change(&mut config);
        let handlers = Handlers::new(self.delivery.handler());
        let engine = Engine::start(self.pool.clone(), config, handlers, CancellationToken::new());
        Running { engine }
    }

    /// Runs an engine until so many attempts have ended.
    pub(crate) async fn run_until(&self, ends: u64) {
        let running = self.run();
        running.until(ends).await;
        running.stop().await;
    }

    /// Makes everything due that waits for a window's end or a retry.
    pub(crate) async fn let_time_pass(&self) {
        sqlx::raw_sql(
            "update headgate.jobs set retry_at = clock_timestamp() where retry_at is not null;
             update headgate.jobs set run_at = clock_timestamp() where run_at > clock_timestamp();
             update headgate.waiting set due_at = clock_timestamp();",
        )
        .execute(&self.pool)
        .await
        .unwrap();
    }

    pub(crate) async fn number(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(&self.pool).await.unwrap()
    }

    /// Waits until the database answers yes.
    pub(crate) async fn until(&self, question: &'static str) {
        let asked = async {
            while !sqlx::query_scalar::<_, bool>(question).fetch_one(&self.pool).await.unwrap_or(false) {
                tokio::task::yield_now().await;
            }
        };
        assert!(tokio::time::timeout(Duration::from_secs(60), asked).await.is_ok(), "never true: {question}");
    }

    pub(crate) async fn jobs(&self, integration: IntegrationId) -> Vec<Job> {
        let filter = JobFilter { integration_id: Some(integration), ..JobFilter::default() };
        insight::store::job_lists::list(
            &self.pool,
            self.scope,
            &filter,
            PageRequest { limit: 500, after: None },
        )
        .await
        .unwrap()
        .items
    }

    /// Status, outcome and error message of the newest job.
    pub(crate) async fn newest(
        &self,
        integration: IntegrationId,
    ) -> (String, Option<String>, Option<String>) {
        let job = self.jobs(integration).await.into_iter().next().expect("no job");
        (job.status.as_str().to_owned(), job.outcome, job.error_message)
    }

    pub(crate) async fn sent(&self, integration: IntegrationId) -> Vec<SentRecord> {
        let page = RecordPageRequest { limit: 500, after: None };
        self.delivery.sent(self.scope, integration, &SentFilter::default(), &page).await.unwrap().items
    }

    /// As `GET /integrations/{id}/status` answers.
    pub(crate) async fn status(&self, integration: IntegrationId) -> SyncStatus {
        self.status_for(self.app, integration).await.unwrap()
    }

    /// The same for an actor of this app.
    pub(crate) async fn status_for(
        &self,
        app: AppId,
        integration: IntegrationId,
    ) -> Result<SyncStatus, ServiceError> {
        let stop = CancellationToken::new();
        let headgate = Headgate::new(service::Parts {
            delivery: self.delivery.clone(),
            access: Access::new(self.pool.clone(), None),
            lists: self.pool.clone(),
            live: LiveHub::start(self.pool.clone(), stop.clone()),
            retentions: Retentions::default(),
        });
        let _stop = stop.drop_guard();
        let actor = Actor {
            kind: ActorKind::System,
            name: "test".to_owned(),
            role: Role::Operator,
            app_id: Some(app),
        };
        headgate.status(&Allowed::check(&actor)?, integration).await
    }
}

fn build(pool: &PgPool, key: &MasterKey, config: DeliveryConfig, allowed: &[&str]) -> Delivery {
    let guard = TargetGuard::new(allowed.iter().map(|net| net.parse().unwrap()).collect(), false);
    Delivery::new(pool.clone(), key.clone(), guard, config, Waker::new(pool.clone())).unwrap()
}

pub(crate) struct Running {
    engine: Engine,
}

impl Running {
    /// Waits until so many attempts have ended and are recorded, however slow the machine is: what fails is a minute in which none ends.
    pub(crate) async fn until(&self, ends: u64) {
        let mut recorded = self.engine.recorded();
        while *recorded.borrow_and_update() < ends {
            tokio::time::timeout(Duration::from_secs(60), recorded.changed())
                .await
                .expect("the engine did not get there")
                .unwrap();
        }
    }

    pub(crate) async fn stop(self) {
        self.engine.shutdown().await;
    }
}

pub(crate) fn object(value: Value) -> Attributes {
    value.as_object().unwrap().clone()
}

/// The pointers of an input's faults.
pub(crate) fn faults<T: std::fmt::Debug>(result: Result<T, DeliveryError>) -> Vec<String> {
    match result.unwrap_err() {
        DeliveryError::Invalid(faults) | DeliveryError::TooLarge(faults) => {
            faults.0.into_iter().map(|fault| fault.pointer).collect()
        }
        other => panic!("{other:?}"),
    }
}
