//! Records how much of each rate limit was used.

use crate::store::rate_limits;
use async_trait::async_trait;
use queue::{error::QueueError, maintenance::Service, store::leader::Term};
use sqlx::PgPool;
use std::time::Duration;

/// Copies the minutes that limits count in their own rows, which have room for two.
#[derive(Debug)]
pub struct LimitUse;

#[async_trait]
impl Service for LimitUse {
    fn name(&self) -> &'static str {
        "limit_use"
    }

    /// A row keeps a minute for at least another one after its end: time for several runs.
    fn interval(&self) -> Duration {
        Duration::from_secs(15)
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        rate_limits::collect(pool, term).await?;
        Ok(false)
    }
}
