//! Vacuums the hot tables, which autovacuum would do too rarely.

use super::Service;
use crate::error::Result;
use crate::pool;
use crate::store::leader::{self, Term};
use crate::store::vacuum;
use async_trait::async_trait;
use sqlx::{PgConnection, PgPool};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;

/// Vacuums each hot table whose dead rows passed the threshold, on a connection of its own.
#[derive(Debug, Default)]
pub(super) struct Vacuum {
    connection: Mutex<Option<PgConnection>>,
    warned_not_owner: AtomicBool,
}

#[async_trait]
impl Service for Vacuum {
    fn name(&self) -> &'static str {
        "vacuum"
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(2)
    }

    /// A large table takes long.
    fn deadline(&self) -> Duration {
        Duration::from_secs(60 * 60)
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool> {
        let mut kept = self.connection.lock().await;
        let mut connection = match kept.take() {
            Some(connection) => connection,
            None => pool::connect_alone(pool, None).await?,
        };
        self.vacuum_due(&mut connection, term).await?;
        // A connection is used again only if all went well.
        *kept = Some(connection);
        Ok(false)
    }
}

impl Vacuum {
    async fn vacuum_due(&self, connection: &mut PgConnection, term: Term) -> Result<()> {
        for bloat in vacuum::bloat(connection).await? {
            if !bloat.is_ours {
                if !self.warned_not_owner.swap(true, Ordering::Relaxed) {
                    tracing::warn!(
                        table = %bloat.table,
                        "this database user does not own the queue's tables and cannot vacuum them: under load the queue slows \
                         down; make it their owner"
                    );
                }
                continue;
            }
            if bloat.is_due {
                leader::confirm(connection, term).await?;
                vacuum::vacuum(connection, &bloat).await?;
            }
            if bloat.is_stale {
                leader::confirm(connection, term).await?;
                vacuum::analyze(connection, &bloat).await?;
            }
        }
        Ok(())
    }
}
