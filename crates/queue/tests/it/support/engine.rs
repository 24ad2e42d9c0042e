//! An engine that tests wait for by what it recorded, never by the clock.

use queue::{
    EngineConfig,
    worker::{AttemptHandler, Engine, EngineHandle, Handlers},
};
use sqlx::PgPool;
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// No test waits longer for anything.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn config() -> EngineConfig {
    EngineConfig {
        workers: 20,
        poll_interval: Duration::from_millis(200),
        heartbeat_interval: Duration::from_secs(1),
        backoff: model::rules::backoff::Backoff { schedule: "0s".parse().unwrap(), jitter: 0.0 },
        ..EngineConfig::default()
    }
}

pub(crate) fn start(pool: &PgPool, config: EngineConfig, handler: Arc<dyn AttemptHandler>) -> EngineHandle {
    Engine::start(pool.clone(), config, Handlers::new(handler), CancellationToken::new())
}

/// Until the engine has recorded so many ends.
pub(crate) async fn until_recorded(engine: &EngineHandle, count: u64) {
    let mut recorded = engine.recorded();
    let waited = tokio::time::timeout(PATIENCE, recorded.wait_for(|recorded| *recorded >= count)).await;
    assert!(waited.is_ok(), "only {} ends recorded", *engine.recorded().borrow());
}

/// Takes the schema away: new databases of a test run are copied from one that has it.
pub(crate) async fn empty(pool: &PgPool) {
    sqlx::raw_sql("drop schema if exists headgate cascade; drop table if exists _sqlx_migrations")
        .execute(pool)
        .await
        .unwrap();
}

/// Until the database answers yes.
pub(crate) async fn until(pool: &PgPool, question: &'static str) {
    let asked = async {
        while !sqlx::query_scalar::<_, bool>(question).fetch_one(pool).await.unwrap_or(false) {
            tokio::task::yield_now().await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, asked).await.is_ok(), "never true: {question}");
}
