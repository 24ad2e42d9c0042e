//! A call that is one transaction, whatever it does.
//!
//! It runs with a pool of one connection that is inside a transaction from before the call to after it: what the call begins by that pool is
//! a savepoint, what it commits is kept if the whole is, and what it reads is what it wrote. So no function on the way has to know.

use crate::{
    error::QueueError,
    pool::{LONGEST_LOCK_WAIT, LONGEST_STATEMENT, PATIENCE, is_sound, prepare, set_lock_timeout},
};
use sqlx::{
    AssertSqlSafe, Connection as _, PgConnection, PgPool, SqlSafeStr as _,
    postgres::{PgPoolOptions, PgTransactionManager},
};
use sqlx_core::transaction::TransactionManager as _;
use std::{
    future::Future,
    io::{Error, ErrorKind},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// While the call waits for something else than the database, the session says this often that it is alive: Postgres ends one that is silent
/// inside a transaction for 15 seconds.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

/// One connection, for one call at a time.
pub struct OneTransaction {
    pool: PgPool,
    is_open: Arc<AtomicBool>,
}

impl OneTransaction {
    /// With the other pool's address; connects when it is first used.
    #[must_use]
    pub fn new(pool: &PgPool) -> Self {
        let is_open = Arc::new(AtomicBool::new(false));
        let (before_connect, before_use) = (Arc::clone(&is_open), Arc::clone(&is_open));
        let options = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(PATIENCE)
            .max_lifetime(None)
            .idle_timeout(Duration::from_secs(5 * 60))
            .test_before_acquire(false)
            .after_connect(move |connection, _| {
                let is_open = Arc::clone(&before_connect);
                Box::pin(async move {
                    prepare(connection, Some(LONGEST_STATEMENT)).await?;
                    set_lock_timeout(connection, LONGEST_LOCK_WAIT).await?;
                    if is_open.load(Ordering::Acquire) {
                        // In place of one that broke: it is not in the transaction.
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

    /// What the call is to use for everything it reads and writes.
    #[must_use]
    pub const fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// Begins, and lets no lock be waited for longer than that until `set local lock_timeout` says otherwise.
    ///
    /// # Errors
    /// When the database is away.
    pub async fn begin(&self, lock_wait: Duration) -> Result<(), QueueError> {
        let begin = format!("begin; set local lock_timeout = {}", lock_wait.as_millis());
        let begin = AssertSqlSafe(begin).into_sql_str();
        // Of a call that panicked: its connection is inside of that one's transaction, and is replaced.
        self.is_open.store(false, Ordering::Release);
        let mut connection = self.pool.acquire().await?;
        PgTransactionManager::begin(&mut connection, Some(begin)).await?;
        self.is_open.store(true, Ordering::Release);
        Ok(())
    }

    /// What comes of `work`, which the transaction stays open for.
    pub async fn during<F: Future>(&self, work: F) -> F::Output {
        let mut work = pin!(work);
        loop {
            match tokio::time::timeout(SIGN_OF_LIFE, &mut work).await {
                Ok(done) => return done,
                // A connection that is in use is no silent one, and a broken one is found out by whoever uses it.
                Err(_) => {
                    if let Some(mut connection) = self.pool.try_acquire() {
                        let _ = connection.ping().await;
                    }
                }
            }
        }
    }

    /// Keeps everything.
    ///
    /// # Errors
    /// [`QueueError::Unavailable`] when the connection broke: if that was while it committed, nobody knows whether everything is kept or nothing.
    pub async fn commit(&self) -> Result<(), QueueError> {
        self.end(async |connection| PgTransactionManager::commit(connection).await).await
    }

    /// Keeps nothing. What cannot be undone because the connection broke is undone by that.
    pub async fn rollback(&self) {
        if let Err(error) =
            self.end(async |connection| PgTransactionManager::rollback(connection).await).await
        {
            tracing::debug!(%error, "a transaction ended with its connection");
        }
    }

    async fn end(
        &self,
        end: impl AsyncFnOnce(&mut PgConnection) -> Result<(), sqlx::Error>,
    ) -> Result<(), QueueError> {
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
