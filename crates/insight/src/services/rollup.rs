//! Folds throughput and latencies.

use crate::store::stats::{latency, rollup};
use async_trait::async_trait;
use queue::error::QueueError;
use queue::maintenance::Service;
use queue::store::counts::fold::PORTION;
use queue::store::leader::Term;
use sqlx::PgPool;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Histograms are folded in one of so many runs: they are large, and nobody needs them by the second.
const HISTOGRAMS_EVERY: u32 = 5;

/// Folds `throughput_deltas` and `latency_deltas` into steps of 10 s, a minute and an hour, and the last success of each integration.
#[derive(Debug, Default)]
pub struct Rollup {
    runs: AtomicU32,
}

#[async_trait]
impl Service for Rollup {
    fn name(&self) -> &'static str {
        "rollup"
    }

    fn sign(&self) -> Option<&'static str> {
        Some(
            "exists (select from headgate.throughput_deltas) or exists (select from headgate.latency_deltas)",
        )
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(1)
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        // One that fails must not keep the other from being folded.
        let throughput = rollup::throughput(pool, term).await;
        let run = self.runs.fetch_add(1, Ordering::Relaxed);
        let latencies =
            if run.is_multiple_of(HISTOGRAMS_EVERY) { latency::fold(pool, term).await } else { Ok(0) };
        if matches!(latencies, Ok(folded) if folded >= PORTION) {
            // There are more of them: the next run, which follows at once, continues with them.
            self.runs.store(run, Ordering::Relaxed);
        }
        Ok(throughput?.max(latencies?) >= PORTION)
    }
}
