//! What a service is, and which the engine brings along.

use super::{
    Breakers, CountViews, DeletedRecords, Expiry, Failures, FoldCounts, LeaseRecovery, LimitUse,
    MaintenanceHealth, Partitions, Promote, Recount, Reindex, Retention, Rollup, RunOperations, Sample, Tidy,
    Vacuum,
};
use crate::{config::EngineConfig, error::QueueError, store::leader::Term};
use async_trait::async_trait;
use sqlx::PgPool;
use std::{sync::Arc, time::Duration};

/// One kind of maintenance.
#[async_trait]
pub trait Service: Send + Sync + 'static {
    /// As logs, `/readyz` and metrics name it: `snake_case`.
    fn name(&self) -> &'static str;

    /// The wait until the next run when there is nothing more to do. Asked after each run, so that a service that knows when the next
    /// thing is due may say so.
    fn interval(&self) -> Duration;

    /// A question to the database that yes or no answers: whether there may be something to do. It is asked together with those of the others
    /// once a second, on a connection whose plans are kept and that reads by index where there is one; as long as the answer is no, the
    /// service runs every ten seconds at most. None: it runs at its interval.
    fn sign(&self) -> Option<&'static str> {
        None
    }

    /// Whether the last run did so much that the next one is worth it without a sign.
    fn is_busy(&self) -> bool {
        false
    }

    /// The longest a run may take. One that takes longer waits for an answer that will not come: it is given up, and run again.
    fn deadline(&self) -> Duration {
        Duration::from_secs(2 * 60)
    }

    /// Told once, before the first run, where the health of all services can be read.
    fn watch(&self, _health: &MaintenanceHealth) {}

    /// Does a bounded piece of work; true when more is to be done at once.
    ///
    /// Tests `term` in the statements that write, or before them in the same transaction
    /// ([`crate::store::leader::confirm`]): a process that was stopped may wake up after another took over.
    ///
    /// # Errors
    /// Whatever kept it from its work: it is run again, later each time.
    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError>;
}

/// The engine's own services.
#[must_use]
pub fn engine_services(config: &EngineConfig) -> Vec<Arc<dyn Service>> {
    vec![
        Arc::new(Promote::default()),
        Arc::new(LeaseRecovery::new(config)),
        Arc::new(Breakers),
        Arc::new(Expiry::default()),
        Arc::new(FoldCounts::default()),
        Arc::new(Rollup::default()),
        Arc::new(Failures::default()),
        Arc::new(Sample::default()),
        Arc::new(LimitUse),
        Arc::new(RunOperations),
        Arc::new(CountViews),
        Arc::new(Partitions),
        Arc::new(Retention::new(config.retentions)),
        Arc::new(DeletedRecords::new(config.retentions)),
        Arc::new(Vacuum::default()),
        Arc::new(Recount::default()),
        Arc::new(Reindex::default()),
        Arc::new(Tidy::default()),
    ]
}
