//! Lets go of what is over: whole days of finished jobs, and rows that have no further use.

use super::Service;
use crate::{
    error::QueueError,
    store::{leader::Term, partitions, retention},
};
use async_trait::async_trait;
use sqlx::PgPool;
use std::time::Duration;

/// Drops partitions older than `HEADGATE_RETENTION` and deletes expired rows.
#[derive(Debug)]
pub struct Retention {
    kept: Duration,
}

impl Retention {
    /// Keeps finished jobs and attempts this long.
    #[must_use]
    pub fn new(kept: Duration) -> Self {
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
        let is_more = retention::delete_expired(pool, term).await;
        // Whatever became of the rows: days that are over are what fills a disk.
        if !matches!(is_more, Ok(true)) {
            partitions::drop_expired(pool, term, self.kept).await?;
        }
        is_more
    }
}
