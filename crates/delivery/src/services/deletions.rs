//! Deletes what deletions of apps and integrations leave behind.

use std::time::Duration;

use async_trait::async_trait;
use queue::{QueueError, maintenance::Service, store::leader::Term};
use sqlx::PgPool;

use crate::store::deletions;

/// A portion of each unfinished deletion at a time.
#[derive(Debug)]
pub(super) struct Deletions;

#[async_trait]
impl Service for Deletions {
    fn name(&self) -> &'static str {
        "deletions"
    }

    fn sign(&self) -> Option<&'static str> {
        Some("exists (select from headgate.deletions where finished_at is null)")
    }

    fn interval(&self) -> Duration {
        Duration::from_millis(250)
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        let mut is_more = false;
        let mut failed = None;
        for id in deletions::unfinished(pool).await? {
            // One that fails must not block the others.
            match deletions::delete_portion(pool, Some(term), id).await {
                Ok(more) => is_more |= more,
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(is_more), Err)
    }
}
