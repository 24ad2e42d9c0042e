//! Adds up throughput.

use super::Service;
use crate::{
    error::QueueError,
    store::{
        leader::Term,
        stats::{fold::CHUNK, rollup},
    },
};
use async_trait::async_trait;
use sqlx::PgPool;
use std::time::Duration;

/// `throughput_deltas` into steps of 10 s, a minute and an hour, and the last success of each integration.
#[derive(Debug, Default)]
pub struct Rollup;

#[async_trait]
impl Service for Rollup {
    fn name(&self) -> &'static str {
        "rollup"
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(1)
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        Ok(rollup::throughput(pool, term).await? >= CHUNK)
    }
}
