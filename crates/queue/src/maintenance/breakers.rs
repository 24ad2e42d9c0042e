//! Changes of circuit breakers that are due to time: waits and holds end, ramps proceed.

use super::Service;
use crate::error::Result;
use crate::store::breakers;
use crate::store::leader::Term;
use crate::wake::wake_all;
use async_trait::async_trait;
use sqlx::PgPool;
use std::time::Duration;

/// Breakers of one transaction.
const PORTION: i64 = 100;

/// Checks breakers once a second, and wakes the workers when more jobs may run.
#[derive(Debug)]
pub(super) struct Breakers;

#[async_trait]
impl Service for Breakers {
    fn name(&self) -> &'static str {
        "breakers"
    }

    fn sign(&self) -> Option<&'static str> {
        Some("exists (select from headgate.breakers where is_watched)")
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(1)
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool> {
        let due = breakers::due(pool, PORTION).await?;
        if due.is_empty() {
            return Ok(false);
        }
        if breakers::tick(pool, term, &due).await? {
            wake_all(pool).await?;
        }
        Ok(due.len() as i64 == PORTION)
    }
}
