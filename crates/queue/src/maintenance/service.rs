//! The trait of a service, and the engine's own services.

use super::breakers::Breakers;
use super::expiry::Expiry;
use super::fold_counts::FoldCounts;
use super::lease_recovery::LeaseRecovery;
use super::partitions::Partitions;
use super::promote::Promote;
use super::recount::Recount;
use super::reindex::{MIN_BYTES, Reindex};
use super::retention::Retention;
use super::tidy::Tidy;
use super::vacuum::Vacuum;
use super::{Counters, MaintenanceHealth};
use crate::{config::EngineConfig, error::QueueError, store::leader::Term};
use async_trait::async_trait;
use sqlx::PgPool;
use std::{sync::Arc, time::Duration};

/// One kind of maintenance.
#[async_trait]
pub trait Service: Send + Sync + 'static {
    /// Its name in logs, `/readyz` and metrics: `snake_case`.
    fn name(&self) -> &'static str;

    /// The wait until the next run when there is nothing more to do. It is read after each run, so that a service can
    /// return the time until its next work is due.
    fn interval(&self) -> Duration;

    /// A boolean SQL expression: whether there may be work. It is evaluated together with those of the others
    /// once a second, on a connection that keeps its plans and reads by index where there is one; while it is false, the
    /// service runs every ten seconds at most. None: it runs at its interval.
    fn sign(&self) -> Option<&'static str> {
        None
    }

    /// Whether the last run did so much that the next one should not wait for a sign.
    fn is_busy(&self) -> bool {
        false
    }

    /// The longest a run may take. One that takes longer waits for an answer that will not come: it is aborted and run again.
    fn deadline(&self) -> Duration {
        Duration::from_secs(2 * 60)
    }

    /// Called once, before the first run, with access to the health of all services.
    fn watch(&self, _health: &MaintenanceHealth) {}

    /// Counters of its crate, which the engine's recount proves too.
    fn counters(&self) -> Vec<Arc<dyn Counters>> {
        Vec::new()
    }

    /// Does a bounded piece of work; true when there is more to do at once.
    ///
    /// Tests `term` in the statements that write, or before them in the same transaction
    /// ([`crate::store::leader::confirm`]): a suspended process may resume after another took over.
    ///
    /// # Errors
    /// Any error that kept it from its work: it is run again, after a longer wait each time.
    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError>;
}

/// The engine's own services, and those of the crates above it.
#[must_use]
pub fn all_services(config: &EngineConfig, extra: Vec<Arc<dyn Service>>) -> Vec<Arc<dyn Service>> {
    let counters = extra.iter().flat_map(|service| service.counters()).collect();
    let mut services: Vec<Arc<dyn Service>> = vec![
        Arc::new(Promote::default()),
        Arc::new(LeaseRecovery::new(config)),
        Arc::new(Breakers),
        Arc::new(Expiry::default()),
        Arc::new(FoldCounts::default()),
        Arc::new(Partitions),
        Arc::new(Retention::of_engine(config.retentions)),
        Arc::new(Vacuum::default()),
        Arc::new(Recount::new(counters)),
        Arc::new(Reindex { min_bytes: MIN_BYTES }),
        Arc::new(Tidy::default()),
    ];
    services.extend(extra);
    services
}
