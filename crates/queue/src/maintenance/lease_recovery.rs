//! Takes back jobs whose worker is gone.

use super::Service;
use crate::{
    config::EngineConfig,
    error::QueueError,
    store::{
        jobs::{self, Lost},
        leader::{self, Term},
        workers,
    },
    wake,
};
use async_trait::async_trait;
use model::id::ClaimBatchId;
use sqlx::PgPool;
use std::time::Duration;
use tokio::sync::Mutex;

/// Claim batches looked at in one transaction.
const CLAIM_BATCHES: i64 = 50;

/// Finds jobs whose lease has ended and ends their attempt: to be retried, or a dead letter after three leases lost in a row.
#[derive(Debug)]
pub struct LeaseRecovery {
    interval: Duration,
    /// Up to where claims that have ended were looked for.
    cursor: Mutex<Option<ClaimBatchId>>,
}

impl LeaseRecovery {
    /// Looks every `HEADGATE_RECOVERY_INTERVAL`.
    #[must_use]
    pub fn new(config: &EngineConfig) -> Self {
        Self { interval: config.recovery_interval, cursor: Mutex::default() }
    }
}

#[async_trait]
impl Service for LeaseRecovery {
    fn name(&self) -> &'static str {
        "lease_recovery"
    }

    fn interval(&self) -> Duration {
        self.interval
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        let mut transaction = pool.begin().await?;
        leader::confirm(&mut transaction, term).await?;
        let lost = jobs::lose_of_dead_workers(&mut transaction, CLAIM_BATCHES).await?;
        transaction.commit().await?;
        if lost == Lost::default() {
            let mut cursor = self.cursor.lock().await;
            *cursor = workers::forget_claims(pool, term, *cursor).await?;
            workers::remove_dead(pool, term).await?;
            return Ok(cursor.is_some());
        }
        tracing::warn!(
            given_back = lost.given_back,
            dead = lost.dead,
            cancelled = lost.cancelled,
            "took jobs back from workers that vanished"
        );
        sqlx::query("select pg_notify($1, '')").bind(wake::CHANNEL).execute(pool).await?;
        Ok(true)
    }
}
