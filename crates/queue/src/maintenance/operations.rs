//! Works off bulk actions.

use super::Service;
use crate::{
    error::QueueError,
    store::{leader::Term, operations},
};
use async_trait::async_trait;
use sqlx::PgPool;
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

/// One chunk of each running operation in turn, at its chosen rate.
#[derive(Debug, Default)]
pub struct RunOperations {
    is_busy: AtomicBool,
}

#[async_trait]
impl Service for RunOperations {
    fn name(&self) -> &'static str {
        "operations"
    }

    /// A quarter of a second: the grain of a chosen rate. A second while there is none.
    fn interval(&self) -> Duration {
        Duration::from_millis(if self.is_busy.load(Ordering::Relaxed) { 250 } else { 1_000 })
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        let are_any = operations::are_any_unfinished(pool).await?;
        self.is_busy.store(are_any, Ordering::Relaxed);
        if !are_any {
            return Ok(false);
        }
        operations::begin_held(pool, term).await?;
        let mut is_more = false;
        let mut failed = None;
        for waiting in operations::unfinished(pool).await?.into_iter().filter(|waiting| waiting.wait_ms == 0)
        {
            // One that fails must not keep the others waiting.
            match operations::run_chunk(pool, term, waiting.id).await {
                Ok(more) => is_more |= more,
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(is_more), Err)
    }
}
