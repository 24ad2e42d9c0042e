//! Folds failures by cause.

use crate::store::failures;
use async_trait::async_trait;
use model::id::JobId;
use queue::{
    error::QueueError,
    maintenance::Service,
    store::{counts::fold::CHUNK, leader::Term},
};
use sqlx::PgPool;
use std::time::Duration;
use tokio::sync::Mutex;

/// Folds `failure_deltas` into groups, and removes rows of ended jobs from `failing_jobs`: a portion each second.
#[derive(Debug, Default)]
pub struct Failures {
    swept: Mutex<Option<JobId>>,
}

#[async_trait]
impl Service for Failures {
    fn name(&self) -> &'static str {
        "failures"
    }

    fn sign(&self) -> Option<&'static str> {
        Some("exists (select from headgate.failure_deltas) or exists (select from headgate.failing_jobs)")
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(1)
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        let folded = failures::fold(pool, term).await?;
        let mut swept = self.swept.lock().await;
        *swept = failures::sweep(pool, term, *swept).await?;
        Ok(folded >= CHUNK)
    }
}
