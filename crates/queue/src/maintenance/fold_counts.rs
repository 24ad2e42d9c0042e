//! Folds the appended deltas of counters.

use super::{Counters, Service};
use crate::error::Result;
use crate::store::counts::fold;
use crate::store::leader::Term;
use async_trait::async_trait;
use futures::future::BoxFuture;
use sqlx::PgPool;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// While nothing happens.
const MAX_INTERVAL: Duration = Duration::from_secs(1);

/// Folds a portion of the deltas of one kind of counters; returns how many.
type Fold = for<'a> fn(&'a PgPool, Term) -> BoxFuture<'a, Result<i64>>;

/// Folds the counters of one crate. The engine's are `job_counts` and the counts of batches.
#[derive(Debug)]
pub(super) struct FoldCounts {
    name: &'static str,
    sign: &'static str,
    folds: &'static [Fold],
    /// What the recount proves of them.
    counters: Vec<Arc<dyn Counters>>,
    last_folded: AtomicI64,
}

/// A service of this name that folds these while its sign ([`Service::sign`]) is seen, and whose counters the recount proves.
#[must_use]
pub fn fold_counts(
    name: &'static str,
    sign: &'static str,
    folds: &'static [Fold],
    counters: Vec<Arc<dyn Counters>>,
) -> Arc<dyn Service> {
    Arc::new(FoldCounts { name, sign, folds, counters, last_folded: AtomicI64::default() })
}

impl Default for FoldCounts {
    /// The engine's.
    fn default() -> Self {
        Self {
            name: "fold_counts",
            sign: "exists (select from headgate.job_count_deltas) or exists (select from headgate.batch_deltas)",
            folds: &[
                |pool, term| Box::pin(fold::job_counts(pool, term)),
                |pool, term| Box::pin(fold::batches(pool, term)),
            ],
            counters: Vec::new(),
            last_folded: AtomicI64::default(),
        }
    }
}

#[async_trait]
impl Service for FoldCounts {
    fn name(&self) -> &'static str {
        self.name
    }

    fn sign(&self) -> Option<&'static str> {
        Some(self.sign)
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

    fn counters(&self) -> Vec<Arc<dyn Counters>> {
        self.counters.clone()
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool> {
        let mut most = 0;
        let mut first_error = None;
        for fold in self.folds {
            // One that fails must not keep the others from being folded.
            match fold(pool, term).await {
                Ok(folded) => most = most.max(folded),
                Err(error) => {
                    first_error.get_or_insert(error);
                }
            }
        }
        if let Some(error) = first_error {
            return Err(error);
        }
        self.last_folded.store(most, Ordering::Relaxed);
        Ok(most >= fold::PORTION)
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
