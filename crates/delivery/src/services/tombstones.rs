//! Removes the tombstones of deleted records whose deletion has reached every integration that had them.

use std::{sync::Mutex, time::Duration};

use async_trait::async_trait;
use model::retention::{Retained, Retentions};
use queue::{QueueError, maintenance::Service, mutex::lock, store::leader::Term};
use sqlx::PgPool;

use crate::store::tombstones::{TombstoneCursor, remove_tombstones};

/// Checks all tombstones that are old enough, a portion at a time. Those that a system still needs stay, and are checked again
/// in the next pass.
#[derive(Debug)]
pub(super) struct DeletedRecords {
    kept: Duration,
    cursor: Mutex<TombstoneCursor>,
}

impl DeletedRecords {
    pub(super) fn new(kept: Retentions) -> Self {
        Self { kept: kept.of(Retained::DeletedRecords), cursor: Mutex::default() }
    }
}

#[async_trait]
impl Service for DeletedRecords {
    fn name(&self) -> &'static str {
        "deleted_records"
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(60 * 60)
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        let cursor = lock(&self.cursor).clone();
        let last = remove_tombstones(pool, term, self.kept, &cursor).await?;
        let is_more = last.is_some();
        *lock(&self.cursor) = last.unwrap_or_default();
        Ok(is_more)
    }
}
