//! An engine whose progress tests wait for by what it recorded, not by time.

use queue::EngineConfig;
use queue::maintenance::{Service, all_services};
use queue::worker::{AttemptHandler, Engine, Handlers};
use sqlx::PgPool;
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) fn config() -> EngineConfig {
    EngineConfig {
        workers: 20,
        poll_interval: Duration::from_millis(200),
        heartbeat_interval: Duration::from_secs(1),
        backoff: model::rules::backoff::Backoff { schedule: "0s".parse().unwrap(), jitter: 0.0 },
        ..EngineConfig::default()
    }
}

pub(crate) fn start(pool: &PgPool, config: EngineConfig, handler: Arc<dyn AttemptHandler>) -> Engine {
    Engine::start(pool.clone(), config, Handlers::new(handler), CancellationToken::new())
}

/// The engine's own maintenance service of this name.
pub(crate) fn service(name: &str) -> Arc<dyn Service> {
    let services = all_services(&EngineConfig::default(), Vec::new());
    services.into_iter().find(|service| service.name() == name).expect("there is no such service")
}

/// Waits until the engine has recorded so many ends of attempts.
pub(crate) async fn until_recorded(engine: &Engine, count: u64) {
    let mut recorded = engine.recorded();
    let waited = tokio::time::timeout(WAIT_TIMEOUT, recorded.wait_for(|recorded| *recorded >= count)).await;
    assert!(waited.is_ok(), "only {} ends recorded", *engine.recorded().borrow());
}

/// Drops the schema, which new databases of a test run have because they are copied from one that has it.
pub(crate) async fn empty(pool: &PgPool) {
    sqlx::raw_sql("drop schema if exists headgate cascade; drop table if exists _sqlx_migrations")
        .execute(pool)
        .await
        .unwrap();
}

/// Waits until the query returns true.
pub(crate) async fn until(pool: &PgPool, condition: &'static str) {
    let polling = async {
        while !sqlx::query_scalar::<_, bool>(condition).fetch_one(pool).await.unwrap_or(false) {
            tokio::task::yield_now().await;
        }
    };
    assert!(tokio::time::timeout(WAIT_TIMEOUT, polling).await.is_ok(), "never true: {condition}");
}
