//! Creates day partitions ahead. Every process does so at its start; the leader does it every hour.

use super::Service;
use crate::error::Result;
use crate::store::leader::{self, Term};
use crate::store::partitions;
use async_trait::async_trait;
use sqlx::PgPool;
use std::time::Duration;

/// Creates the partitions of today and the next seven days.
#[derive(Debug, Default)]
pub(super) struct Partitions;

#[async_trait]
impl Service for Partitions {
    fn name(&self) -> &'static str {
        "partitions"
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(60 * 60)
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool> {
        // The term is tested outside the transaction: creating partitions that exist does no harm.
        leader::confirm(&mut *pool.acquire().await?, term).await?;
        partitions::make_ahead(pool).await?;
        Ok(false)
    }
}
