//! Folds the appended deltas of all counters.

use super::Service;
use crate::{
    error::QueueError,
    store::{leader::Term, stats::fold},
};
use async_trait::async_trait;
use sqlx::PgPool;
use std::time::Duration;

/// `job_counts`, `record_counts` and the counts of batches.
#[derive(Debug, Default)]
pub struct FoldCounts;

#[async_trait]
impl Service for FoldCounts {
    fn name(&self) -> &'static str {
        "fold_counts"
    }

    /// Whoever reads adds the unfolded deltas: often enough that they stay few.
    fn interval(&self) -> Duration {
        Duration::from_secs(1)
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        let jobs = fold::job_counts(pool, term).await?;
        let records = fold::record_counts(pool, term).await?;
        let batches = fold::batches(pool, term).await?;
        Ok(jobs.max(records).max(batches) >= fold::CHUNK)
    }
}
