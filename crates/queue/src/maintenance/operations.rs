//! Works off bulk actions, and what deletions of apps and integrations leave behind.

use super::Service;
use crate::{
    error::QueueError,
    store::{deletions, leader::Term, operations},
};
use async_trait::async_trait;
use sqlx::PgPool;
use std::time::Duration;

/// One chunk of each running operation in turn, at its chosen rate, and a portion of each deletion.
#[derive(Debug)]
pub struct RunOperations;

#[async_trait]
impl Service for RunOperations {
    fn name(&self) -> &'static str {
        "operations"
    }

    fn sign(&self) -> Option<&'static str> {
        Some(
            "exists (select from headgate.operations where finished_at is null) \
             or exists (select from headgate.deletions where finished_at is null)",
        )
    }

    /// The grain of a chosen rate.
    fn interval(&self) -> Duration {
        Duration::from_millis(250)
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
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
        for id in deletions::unfinished(pool).await? {
            match deletions::work_off(pool, Some(term), id).await {
                Ok(more) => is_more |= more,
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(is_more), Err)
    }
}
