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
use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};
use tokio::sync::Mutex;

/// Reads the counters and writes them as the row every process reads.
#[derive(Debug, Default)]
pub struct Sample {
    /// What was left in the last two minutes; a new leader begins without.
    levels: Mutex<Levels>,
    /// How long the last run took.
    took_ms: AtomicU64,
}

/// The wait between two snapshots.
const STEP: Duration = Duration::from_secs(1);

#[async_trait]
impl Service for Sample {
    fn name(&self) -> &'static str {
        "sample"
    }

    /// A second, or longer where thousands of integrations make a snapshot dear: it may take a tenth of the time.
    fn interval(&self) -> Duration {
        Duration::from_millis(self.took_ms.load(Ordering::Relaxed).saturating_mul(9)).max(STEP)
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        let begun_at = Instant::now();
        let snapshot = snapshot_with(pool, &mut *self.levels.lock().await).await?;
        live_snapshots::write(pool, term, &snapshot).await?;
        let took_ms = u64::try_from(begun_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.took_ms.store(took_ms, Ordering::Relaxed);
        Ok(false)
    }
}
