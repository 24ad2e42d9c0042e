//! Lets go of what is over: whole days of finished jobs, and rows that have no further use.

use super::Service;
use crate::{
    error::QueueError,
    store::{leader::Term, partitions, retention},
};
use async_trait::async_trait;
use model::retention::{Retained, Retentions};
use sqlx::PgPool;
use std::time::Duration;

/// Drops the days of jobs and deletes the rows that are older than they are kept.
#[derive(Debug)]
pub struct Retention {
    kept: Retentions,
}

impl Retention {
    /// Keeps what was done this long.
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

    /// A big table takes its time.
    fn deadline(&self) -> Duration {
        Duration::from_secs(60 * 60)
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        let expired = retention::delete_expired(pool, term).await;
        let history = retention::forget_history(pool, term, self.kept).await;
        let is_more = expired.and_then(|more| Ok(more | history?));
        // Whatever became of the rows: days that are over are what fills a disk.
        if !matches!(is_more, Ok(true)) {
            partitions::drop_expired(pool, term, self.kept.of(Retained::FinishedJobs)).await?;
        }
        is_more
    }
}
