//! Runs a whole call in one transaction.
//!
//! The call gets a pool of one connection that is inside a transaction from before the call until after it. Transactions that the call begins on
//! that pool become savepoints, what they commit is kept if the outer transaction commits, and the call reads its own writes. So no function on
//! the way has to know.

use crate::error::Result;
use crate::pool::{ACQUIRE_TIMEOUT, DEFAULT_STATEMENT_TIMEOUT, is_sound, prepare};
use crate::store::lock_timeout::{DEFAULT_LOCK_TIMEOUT, set_lock_timeout};
use sqlx::postgres::{PgPoolOptions, PgTransactionManager};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, PgPool, SqlSafeStr as _};
use sqlx_core::transaction::TransactionManager as _;
use std::future::Future;
use std::io::{Error, ErrorKind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// While the call waits for something other than the database, the session is pinged this often: Postgres ends one that idles inside a
/// transaction for 15 seconds.
const PING_INTERVAL: Duration = Duration::from_secs(5);

/// A pool of one connection, for one call at a time.
pub struct OneTransaction {
    pool: PgPool,
    is_open: Arc<AtomicBool>,
}

impl OneTransaction {
    /// Connects to the address of `pool`, when it is first used.
    #[must_use]
    pub fn new(pool: &PgPool) -> Self {
        let is_open = Arc::new(AtomicBool::new(false));
        let (before_connect, before_use) = (Arc::clone(&is_open), Arc::clone(&is_open));
        let options = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .max_lifetime(None)
            .idle_timeout(Duration::from_secs(5 * 60))
            .test_before_acquire(false)
            .after_connect(move |connection, _| {
                let is_open = Arc::clone(&before_connect);
                Box::pin(async move {
                    prepare(connection, Some(DEFAULT_STATEMENT_TIMEOUT)).await?;
                    set_lock_timeout(connection, DEFAULT_LOCK_TIMEOUT).await?;
                    if is_open.load(Ordering::Acquire) {
                        // It replaces a connection that broke, and is not in the transaction: nothing may be written outside of that.
                        sqlx::raw_sql("set default_transaction_read_only = on").execute(connection).await?;
                    }
                    Ok(())
                })
            })
            .before_acquire(move |connection, _| {
                let is_open = before_use.load(Ordering::Acquire);
                Box::pin(async move {
                    if is_open { Ok(connection.is_in_transaction()) } else { is_sound(connection).await }
                })
            });
        Self { pool: options.connect_lazy_with((*pool.connect_options()).clone()), is_open }
    }

    /// The pool for everything the call reads and writes.
    #[must_use]
    pub const fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// Begins the transaction. Its lock time-out is `lock_timeout` until `set local lock_timeout` changes it.
    pub async fn begin(&self, lock_timeout: Duration) -> Result<()> {
        let begin = format!("begin; set local lock_timeout = {}", lock_timeout.as_millis());
        let begin = AssertSqlSafe(begin).into_sql_str();
        // A call that panicked left its connection inside a transaction: with this flag unset the pool replaces it.
        self.is_open.store(false, Ordering::Release);
        let mut connection = self.pool.acquire().await?;
        PgTransactionManager::begin(&mut connection, Some(begin)).await?;
        self.is_open.store(true, Ordering::Release);
        Ok(())
    }

    /// Runs `work` and keeps the transaction alive meanwhile.
    pub async fn run<F: Future>(&self, work: F) -> F::Output {
        let mut work = pin!(work);
        loop {
            match tokio::time::timeout(PING_INTERVAL, &mut work).await {
                Ok(done) => return done,
                // A connection in use does not idle, and one that broke fails at its next use.
                Err(_) => {
                    if let Some(mut connection) = self.pool.try_acquire() {
                        let _ = connection.ping().await;
                    }
                }
            }
        }
    }

    /// Commits.
    ///
    /// # Errors
    /// [`crate::QueueError::Unavailable`] when the connection broke; if that happened during the commit, everything or nothing may have been stored.
    pub async fn commit(&self) -> Result<()> {
        self.end(async |connection| PgTransactionManager::commit(connection).await).await
    }

    /// Rolls back. If the connection broke, the database has rolled back by itself.
    pub async fn rollback(&self) {
        if let Err(error) =
            self.end(async |connection| PgTransactionManager::rollback(connection).await).await
        {
            tracing::debug!(%error, "a transaction ended with its connection");
        }
    }

    async fn end(&self, end: impl AsyncFnOnce(&mut PgConnection) -> Result<(), sqlx::Error>) -> Result<()> {
        let acquired = self.pool.acquire().await;
        self.is_open.store(false, Ordering::Release);
        let mut connection = acquired?;
        let ended = if connection.is_in_transaction() { end(&mut connection).await } else { Err(broke()) };
        if ended.is_err() {
            connection.close_on_drop();
        }
        Ok(ended?)
    }
}

fn broke() -> sqlx::Error {
    Error::new(ErrorKind::ConnectionAborted, "the connection of the transaction broke").into()
}
