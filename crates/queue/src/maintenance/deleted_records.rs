//! Forgets deleted records that every integration has been told of, or never had.

use super::Service;
use crate::{
    error::QueueError,
    store::{
        leader::Term,
        retention::{Seen, forget_deleted_records},
    },
};
use async_trait::async_trait;
use model::retention::{Retained, Retentions};
use sqlx::PgPool;
use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// Looks at all tombstones that are old enough, a portion at a time. Those of systems that could not be told yet stay, and are looked at again
/// in the next pass.
#[derive(Debug)]
pub struct DeletedRecords {
    kept: Duration,
    seen: Mutex<Seen>,
}

impl DeletedRecords {
    /// Keeps them at least so long.
    #[must_use]
    pub fn new(kept: Retentions) -> Self {
        Self { kept: kept.of(Retained::DeletedRecords), seen: Mutex::default() }
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
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let last = forget_deleted_records(pool, term, self.kept, &seen).await?;
        let is_more = last.is_some();
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = last.unwrap_or_default();
        Ok(is_more)
    }
}
