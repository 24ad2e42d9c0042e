//! A worker process of the drain: the engine with a handler that does nothing.

use crate::world::{DATABASE, connect, in_database};
use anyhow::Result;
use async_trait::async_trait;
use queue::EngineConfig;
use queue::maintenance::Maintenance;
use queue::store::jobs::Completion;
use queue::worker::{AttemptHandler, Engine, Handlers, LeasedJob, Outcome};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

pub(crate) struct Nothing;

#[async_trait]
impl AttemptHandler for Nothing {
    async fn run(&self, _job: &LeasedJob) -> Outcome {
        Outcome::Completed { how: Completion::Done, response: None, result: None, receipt: None }
    }
}

pub(crate) fn config(slots: usize) -> EngineConfig {
    EngineConfig { workers: slots, fetch_limit: 2000, ..EngineConfig::default() }
}

/// Runs until standard input is closed; with maintenance, like every process.
pub(crate) async fn run(server: &str, slots: usize) -> Result<()> {
    let url = in_database(server, DATABASE)?;
    let pool = connect(&url, 12).await?;
    let stop = CancellationToken::new();
    let engine = Engine::start(pool.clone(), config(slots), Handlers::new(Arc::new(Nothing)), stop.clone());
    let maintenance = Maintenance::start(pool, config(slots), Vec::new(), None, stop.clone());
    tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink())).await??;
    stop.cancel();
    engine.shutdown().await;
    maintenance.stopped().await;
    Ok(())
}
