//! One attempt without an engine, for the test kit: the engine's pipeline and finisher, awaited until the last write.

use crate::EngineConfig;
use crate::store::jobs::ClaimedJob;
use crate::worker::engine::parts::Parts;
use crate::worker::handler::{Handlers, Peers};
use crate::worker::lease::Lease;
use sqlx::PgPool;
use std::sync::Arc;

/// Runs a claimed job until its end is recorded. No task is left running except those of the handler.
pub(crate) async fn run_claimed(pool: &PgPool, config: &EngineConfig, handlers: &Handlers, job: ClaimedJob) {
    let parts = Parts::new(pool.clone(), config.clone(), handlers.clone());
    parts.running.add(&[(job.assignment_id, job.integration_id)]);
    parts.batches.add(job.claim_batch_id, 1);
    let (finisher, recorded) = parts.start_finisher();
    let runner = Arc::new(parts.runner(finisher));
    runner.execute(job, Arc::new(Peers::new(1)), Arc::new(Lease::endless())).await;
    if let Err(error) = recorded.await {
        tracing::error!(%error, "the finisher did not end in order");
    }
}
