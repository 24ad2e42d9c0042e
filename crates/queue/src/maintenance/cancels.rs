//! Calls jobs off again that went on although they had been called off.

use super::{
    MaintenanceHealth, Service,
    passed_over::PassedOver,
    portions::{Done, begin, in_portions},
};
use crate::{
    error::QueueError,
    pool::end,
    store::{jobs, leader::Term},
    wake,
};
use async_trait::async_trait;
use model::actor::Scope;
use sqlx::PgPool;
use std::time::{Duration, Instant};

/// As health and metrics know it.
const NAME: &str = "cancels";
/// Jobs called off in one transaction.
const CHUNK: usize = 100;

/// Ends as cancelled what a worker of an older version let go on (`store/jobs/unheeded.rs` says how that comes), or asks whoever runs it by now.
/// There is nothing to do but during an upgrade.
#[derive(Debug)]
pub struct Cancels {
    passed_over: PassedOver,
}

impl Default for Cancels {
    fn default() -> Self {
        Self { passed_over: PassedOver::by(NAME) }
    }
}

#[async_trait]
impl Service for Cancels {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sign(&self) -> Option<&'static str> {
        Some("exists (select from headgate.cancel_requests)")
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn watch(&self, health: &MaintenanceHealth) {
        self.passed_over.watch(health);
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        let now = Instant::now();
        self.passed_over.forget_old(now);
        let left_alone = self.passed_over.left_alone(now);
        let unheeded = jobs::unheeded(pool, CHUNK as i64, &left_alone).await?;
        if unheeded.is_empty() {
            jobs::forget_requests(pool, term).await?;
            return Ok(false);
        }
        let Done { answers, faulty, error, .. } = in_portions(&unheeded, CHUNK, |portion| async move {
            let mut transaction = begin(pool, term).await?;
            let called_off = jobs::cancel_many(&mut transaction, Scope::AllApps, &portion).await;
            end(transaction, called_off).await
        })
        .await;
        for (id, error) in &faulty {
            self.passed_over.note(*id, error);
        }
        let count: usize = answers.iter().map(|called_off| called_off.len()).sum();
        if count > 0 {
            tracing::info!(count, "called jobs off again that a worker of an older version let go on");
            // What stands behind them may begin.
            wake::all(pool).await?;
        }
        error.map_or(Ok(count == CHUNK), Err)
    }
}
