//! Makes the days ahead. Every process does so at its start; the leader goes on.

use super::Service;
use crate::{
    error::QueueError,
    store::{
        leader::{self, Term},
        partitions,
    },
};
use async_trait::async_trait;
use sqlx::PgPool;
use std::time::Duration;

/// Partitions of today and the next seven days.
#[derive(Debug, Default)]
pub struct Partitions;

#[async_trait]
impl Service for Partitions {
    fn name(&self) -> &'static str {
        "partitions"
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(60 * 60)
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        // Making what is there already does no harm, so the term need only be tested, not held against a race.
        leader::confirm(&mut *pool.acquire().await?, term).await?;
        partitions::make_ahead(pool).await?;
        Ok(false)
    }
}
