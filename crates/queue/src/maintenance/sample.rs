//! The deployment's one sampler: a snapshot a second.

use super::Service;
use crate::{
    error::QueueError,
    store::{
        leader::Term,
        stats::{Levels, live_snapshots, snapshot_with},
    },
};
use async_trait::async_trait;
use sqlx::PgPool;
use std::time::Duration;
use tokio::sync::Mutex;

/// Reads the counters and writes them as the row every process reads.
#[derive(Debug, Default)]
pub struct Sample {
    /// What was left in the last two minutes; a new leader begins without.
    levels: Mutex<Levels>,
}

#[async_trait]
impl Service for Sample {
    fn name(&self) -> &'static str {
        "sample"
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(1)
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        let snapshot = snapshot_with(pool, &mut *self.levels.lock().await).await?;
        live_snapshots::write(pool, term, &snapshot).await?;
        Ok(false)
    }
}
