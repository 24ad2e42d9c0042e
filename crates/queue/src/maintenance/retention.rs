//! Deletes what is past its retention: whole days of finished jobs, and rows of other tables.

use super::Service;
use crate::{
    error::QueueError,
    store::{leader::Term, partitions, retention},
};
use async_trait::async_trait;
use model::retention::{Retained, Retentions};
use sqlx::PgPool;
use std::time::Duration;

/// Drops day partitions and deletes rows past their retention.
#[derive(Debug)]
pub struct Retention {
    kept: Retentions,
}

impl Retention {
    /// With these retentions.
    #[must_use]
    pub fn new(kept: Retentions) -> Self {
        Self { kept }
    }
}

#[async_trait]
impl Service for Retention {
    fn name(&self) -> &'static str {
        "retention"
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(5 * 60)
    }

    /// A large table takes long.
    fn deadline(&self) -> Duration {
        Duration::from_secs(60 * 60)
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        let expired = retention::delete_expired(pool, term).await;
        let history = retention::delete_history(pool, term, self.kept).await;
        let is_more = expired.and_then(|more| Ok(more | history?));
        // Also when rows could not be deleted, because it is the old partitions that fill a disk.
        if !matches!(is_more, Ok(true)) {
            partitions::drop_expired(pool, term, self.kept.of(Retained::FinishedJobs)).await?;
        }
        is_more
    }
}
