//! Connections and transactions for the statements of the stores.

use crate::error::{QueueError, Result, is_unavailable};
use crate::pool::{ACQUIRE_TIMEOUT, prepare};
use rand::Rng as _;
use sqlx::postgres::{PgListener, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection as _, PgPool, Postgres, SqlSafeStr as _, Transaction};
use std::time::Duration;

/// Settings of a session (`set`) or transaction (`set local`) whose statements look rows up by key: plans are kept, and do not depend on what
/// the planner believes about the size of a table.
macro_rules! lookup_settings {
    ($set:literal) => {
        concat!(
            $set,
            " enable_seqscan = off; ",
            $set,
            " enable_hashjoin = off; ",
            $set,
            " enable_mergejoin = off; ",
            $set,
            " plan_cache_mode = force_generic_plan"
        )
    };
}
pub(crate) use lookup_settings;

/// A pool at the same address for single statements that look rows up by key and are repeated often: their plans are kept. It is not for
/// transactions.
#[must_use]
pub fn for_lookups(pool: &PgPool, max_connections: u32) -> PgPool {
    PgPoolOptions::new()
        .max_connections(max_connections)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .max_lifetime(Duration::from_secs(30 * 60))
        .idle_timeout(Duration::from_secs(5 * 60))
        .test_before_acquire(false)
        .after_connect(|connection, _| {
            Box::pin(async move {
                // Longer than its users wait: to them a late answer is a time-out, and not a refused statement.
                prepare(connection, Some(ACQUIRE_TIMEOUT * 2)).await?;
                sqlx::raw_sql(lookup_settings!("set")).execute(connection).await?;
                Ok(())
            })
        })
        .connect_lazy_with((*pool.connect_options()).clone())
}

/// Begins a transaction, or a savepoint if the pool's connection is [inside one](super::one_transaction). A broken connection is replaced by
/// another, because nothing has been done by then: after an outage of the database every idle connection of the pool may be broken.
pub async fn begin(pool: &PgPool, begin: &str) -> Result<Transaction<'static, Postgres>> {
    for _ in 0..pool.options().get_max_connections() {
        match try_begin(pool, begin).await {
            Err(error) if is_broken(&error) => {
                tracing::debug!(%error, "a connection broke while it was idle");
            }
            answer => return Ok(answer?),
        }
    }
    Ok(try_begin(pool, begin).await?)
}

async fn try_begin(pool: &PgPool, begin: &str) -> Result<Transaction<'static, Postgres>, sqlx::Error> {
    let connection = pool.acquire().await?;
    if !connection.is_in_transaction() {
        let begin = AssertSqlSafe(begin.to_owned()).into_sql_str();
        return Transaction::begin(connection, Some(begin)).await;
    }
    let mut part = Transaction::begin(connection, None).await?;
    if let Some((_, settings)) = begin.split_once(';') {
        sqlx::raw_sql(AssertSqlSafe(settings.to_owned())).execute(&mut *part).await?;
    }
    Ok(part)
}

/// Whether another connection may succeed.
fn is_broken(error: &sqlx::Error) -> bool {
    is_unavailable(error) && !matches!(error, sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed)
}

/// Commits after a success. After an error it waits for the rollback, because a retry would otherwise run into the locks of this transaction.
pub(crate) async fn end<T>(transaction: Transaction<'_, Postgres>, answer: Result<T>) -> Result<T> {
    if answer.is_ok() {
        transaction.commit().await?;
    } else {
        transaction.rollback().await?;
    }
    answer
}

/// Detects a transaction pooler in between: it swallows notifications, and changes the backend between statements.
///
/// # Errors
/// [`QueueError::TransactionPooler`] when there is one.
pub async fn refuse_transaction_pooler(pool: &PgPool) -> Result<()> {
    let channel = format!("headgate_probe_{:016x}", rand::rng().random::<u64>());
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen(&channel).await?;
    sqlx::query("select pg_notify($1, '')").bind(&channel).execute(pool).await?;
    match tokio::time::timeout(Duration::from_secs(2), listener.recv()).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => return Err(error.into()),
        Err(_) => return Err(QueueError::TransactionPooler),
    }
    let mut connection = pool.acquire().await?;
    let mut backends = std::collections::HashSet::new();
    for _ in 0..5 {
        let backend: i32 = sqlx::query_scalar("select pg_backend_pid()").fetch_one(&mut *connection).await?;
        backends.insert(backend);
    }
    if backends.len() > 1 { Err(QueueError::TransactionPooler) } else { Ok(()) }
}
