//! Runs bulk operations.

use crate::store::operations;
use async_trait::async_trait;
use queue::{error::QueueError, maintenance::Service, store::leader::Term};
use sqlx::PgPool;
use std::time::Duration;

/// Runs one portion of each running operation in turn, at its rate.
#[derive(Debug)]
pub struct RunOperations;

#[async_trait]
impl Service for RunOperations {
    fn name(&self) -> &'static str {
        "operations"
    }

    fn sign(&self) -> Option<&'static str> {
        Some("exists (select from headgate.operations where finished_at is null)")
    }

    /// Portions of an operation with a rate are made for this interval.
    fn interval(&self) -> Duration {
        Duration::from_millis(250)
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        operations::begin_held(pool, term).await?;
        let mut is_more = false;
        let mut failed = None;
        let running = operations::running(pool).await?;
        for operation in running.into_iter().filter(|operation| operation.wait_ms == 0) {
            // One that fails must not block the others.
            match operations::run_portion(pool, term, operation.id).await {
                Ok(more) => is_more |= more,
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(is_more), Err)
    }
}
