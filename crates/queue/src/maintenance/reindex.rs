//! Makes indexes of the hot tables anew when they are mostly empty.

use super::Service;
use crate::{
    error::QueueError,
    pool,
    store::{
        leader::{self, Term},
        reindex,
    },
};
use async_trait::async_trait;
use sqlx::{Connection as _, PgConnection, PgPool};
use std::time::Duration;

/// Below this an index is read in no time, however empty it is.
const WORTH_IT: i64 = 64 * 1024 * 1024;
/// An old transaction is waited for so long; it keeps nobody else waiting.
const LOCK_TIMEOUT: &str = "set lock_timeout = '30s'";

/// Looks once an hour; on a connection of its own, one index at a time.
#[derive(Debug)]
pub struct Reindex {
    at_least: i64,
}

impl Default for Reindex {
    fn default() -> Self {
        Self::of_at_least(WORTH_IT)
    }
}

impl Reindex {
    /// Leaves smaller ones alone, in bytes.
    #[must_use]
    pub fn of_at_least(bytes: i64) -> Self {
        Self { at_least: bytes }
    }
}

#[async_trait]
impl Service for Reindex {
    fn name(&self) -> &'static str {
        "reindex"
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(60 * 60)
    }

    /// A big index takes its time.
    fn deadline(&self) -> Duration {
        Duration::from_secs(60 * 60)
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        let mut connection = PgConnection::connect_with(&pool.connect_options()).await?;
        pool::prepare(&mut connection, None).await?;
        sqlx::raw_sql(LOCK_TIMEOUT).execute(&mut connection).await?;
        // One whose lock is not given must not keep the others from their turn.
        let mut first_error = None;
        for index in reindex::bloated(&mut connection, self.at_least).await? {
            leader::confirm(&mut connection, term).await?;
            tracing::info!(index = %index.name, bytes = index.bytes, leftover = index.is_leftover, "an index is made anew");
            if let Err(error) = reindex::remake(&mut connection, &index).await {
                tracing::warn!(index = %index.name, %error, "index {} could not be made anew", index.name);
                first_error.get_or_insert(error);
            }
        }
        // Nothing is pending on it: a farewell that is not heard loses nothing.
        let _ = connection.close().await;
        first_error.map_or(Ok(false), Err)
    }
}
