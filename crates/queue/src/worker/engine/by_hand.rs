//! One attempt without an engine, for the test kit: the engine's pipeline and finisher, awaited until the last write.

use crate::{
    EngineConfig,
    store::jobs::ClaimedJob,
    worker::{
        Handlers, Peers, finish::finisher::Finisher, lease::validity::Lease, run::execute::execute,
        state::shared::Shared,
    },
};
use sqlx::PgPool;
use std::sync::Arc;

/// Runs a claimed job until its end is recorded. No task is left running except those of the handler.
pub(crate) async fn run_claimed(pool: &PgPool, config: &EngineConfig, handlers: &Handlers, job: ClaimedJob) {
    let shared = Arc::new(Shared::new(pool.clone(), config.clone(), handlers.clone()));
    shared.add_claimed(job.claim_batch_id, &[(job.assignment_id, job.integration_id)]);
    let (finisher, recorded) = Finisher::start(Arc::clone(&shared));
    execute(shared, finisher, job, Arc::new(Peers::new(1)), Arc::new(Lease::endless())).await;
    if let Err(error) = recorded.await {
        tracing::error!(%error, "the finisher did not end in order");
    }
}
