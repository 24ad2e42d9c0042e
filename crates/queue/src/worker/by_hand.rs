//! One attempt outside an engine, for the test kit: the engine's own pipeline and finisher, awaited to the last write.

use crate::{
    EngineConfig,
    store::jobs::ClaimedJob,
    worker::{Handlers, Peers, execute::execute, finisher::Finisher, lease::Lease, shared::Shared},
};
use sqlx::PgPool;
use std::sync::Arc;

/// Runs a claimed job to its recorded end. No task is left behind, but for a handler's own.
pub(crate) async fn run_claimed(pool: &PgPool, config: &EngineConfig, handlers: &Handlers, job: ClaimedJob) {
    let shared = Arc::new(Shared::new(pool.clone(), config.clone(), handlers.clone()));
    shared.take_in(job.claim_batch_id, &[(job.assignment_id, job.integration_id)]);
    let (finisher, recorded) = Finisher::start(Arc::clone(&shared));
    execute(shared, finisher, job, Arc::new(Peers::new(1)), Arc::new(Lease::for_good())).await;
    if let Err(error) = recorded.await {
        tracing::error!(%error, "the finisher did not end in order");
    }
}
