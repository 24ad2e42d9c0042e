//! Deletes statistics, failures and operations past their retention.

use crate::store::retention;
use async_trait::async_trait;
use model::retention::Retentions;
use queue::{error::QueueError, maintenance::Service, store::leader::Term};
use sqlx::PgPool;
use std::time::Duration;

/// The retention of what is seen; the engine has its own.
#[derive(Debug)]
pub struct InsightRetention {
    kept: Retentions,
}

impl InsightRetention {
    /// `kept` says how long operations stay; statistics have fixed lengths.
    #[must_use]
    pub fn new(kept: Retentions) -> Self {
        Self { kept }
    }
}

#[async_trait]
impl Service for InsightRetention {
    fn name(&self) -> &'static str {
        "insight_retention"
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(5 * 60)
    }

    /// Long, because a big table takes its time.
    fn deadline(&self) -> Duration {
        Duration::from_secs(60 * 60)
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        retention::delete_expired(pool, term, self.kept).await
    }
}
