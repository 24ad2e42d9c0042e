//! Rebuilds indexes of the hot tables that are mostly empty.

use super::Service;
use crate::error::Result;
use crate::pool;
use crate::store::leader::{self, Term};
use crate::store::reindex;
use async_trait::async_trait;
use sqlx::{Connection as _, PgPool};
use std::time::Duration;

/// Reads of a smaller index are fast, however empty it is.
pub(super) const MIN_BYTES: i64 = 64 * 1024 * 1024;
/// How long old transactions are waited for. Others do not have to wait meanwhile.
const LOCK_TIMEOUT: &str = "set lock_timeout = '30s'";

/// Checks once an hour and rebuilds one index at a time, on a connection of its own.
#[derive(Debug)]
pub(crate) struct Reindex {
    /// Smaller indexes are left alone.
    pub(crate) min_bytes: i64,
}

#[async_trait]
impl Service for Reindex {
    fn name(&self) -> &'static str {
        "reindex"
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(60 * 60)
    }

    /// A large index takes long.
    fn deadline(&self) -> Duration {
        Duration::from_secs(60 * 60)
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool> {
        let mut connection = pool::connect_alone(pool, None).await?;
        sqlx::raw_sql(LOCK_TIMEOUT).execute(&mut connection).await?;
        // An index whose lock is not granted must not keep the others from being rebuilt.
        let mut first_error = None;
        for index in reindex::bloated(&mut connection, self.min_bytes).await? {
            leader::confirm(&mut connection, term).await?;
            tracing::info!(index = %index.name, bytes = index.bytes, leftover = index.is_leftover, "an index is being rebuilt");
            if let Err(error) = reindex::rebuild(&mut connection, &index).await {
                tracing::warn!(index = %index.name, error = %error.with_causes(), "index {} could not be rebuilt", index.name);
                first_error.get_or_insert(error);
            }
        }
        // Nothing is pending on the connection: a failed close loses nothing.
        let _ = connection.close().await;
        first_error.map_or(Ok(false), Err)
    }
}
