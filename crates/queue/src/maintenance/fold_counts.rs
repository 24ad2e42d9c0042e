//! Folds the appended deltas of all counters.

use super::Service;
use crate::{
    error::QueueError,
    store::{counts::fold, leader::Term},
};
use async_trait::async_trait;
use sqlx::PgPool;
use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

/// While nothing happens.
const MAX_INTERVAL: Duration = Duration::from_secs(1);

/// `job_counts`, `record_counts`, `in_sync_counts` and the counts of batches.
#[derive(Debug, Default)]
pub struct FoldCounts {
    last_folded: AtomicI64,
}

#[async_trait]
impl Service for FoldCounts {
    fn name(&self) -> &'static str {
        "fold_counts"
    }

    fn sign(&self) -> Option<&'static str> {
        Some(
            "exists (select from headgate.job_count_deltas) or exists (select from headgate.record_count_deltas) \
             or exists (select from headgate.in_sync_count_deltas) or exists (select from headgate.batch_deltas)",
        )
    }

    fn is_busy(&self) -> bool {
        self.interval() < MAX_INTERVAL
    }

    /// Readers add the unfolded deltas, and every claim is a reader, so the next fold is the sooner the more came in. With a fold a second, every
    /// claim of a busy queue would sum ten thousand deltas.
    fn interval(&self) -> Duration {
        match self.last_folded.load(Ordering::Relaxed) {
            ..=50 => MAX_INTERVAL,
            51..=250 => Duration::from_millis(250),
            _ => Duration::from_millis(100),
        }
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        // One that fails must not keep the others from being folded.
        let jobs = fold::job_counts(pool, term).await;
        let records = fold::record_counts(pool, term).await;
        let in_sync = fold::in_sync_counts(pool, term).await;
        let batches = fold::batches(pool, term).await;
        let most = jobs?.max(records?).max(in_sync?).max(batches?);
        self.last_folded.store(most, Ordering::Relaxed);
        Ok(most >= fold::CHUNK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_came_in_the_sooner_the_next_fold() {
        let service = FoldCounts::default();
        for (folded, millis) in [(0, 1_000), (50, 1_000), (51, 250), (250, 250), (251, 100), (i64::MAX, 100)]
        {
            service.last_folded.store(folded, Ordering::Relaxed);
            assert_eq!(service.interval(), Duration::from_millis(millis), "{folded}");
        }
    }
}
