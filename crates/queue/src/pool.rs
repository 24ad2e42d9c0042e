//! Connections the engine can trust.
//!
//! Three things go wrong with a plain pool: a cancelled `begin()` leaves a connection inside a transaction (RELIABILITY 0.1), a
//! cut-off peer keeps its locks for hours (0.10), and a transaction pooler hands over other clients' answers (0.2). The settings
//! are sent as statements and not as start-up options, which session poolers refuse.

use crate::error::{QueueError, is_unavailable};
use rand::Rng as _;
use sqlx::{
    AssertSqlSafe, Connection as _, PgConnection, PgPool, Postgres, Row as _, SqlSafeStr as _, Transaction,
    postgres::{PgConnectOptions, PgListener, PgPoolOptions},
};
use std::{str::FromStr as _, time::Duration};

/// How long a connection may take to come, or to prove that it is sound.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// A connection that lay idle for less is handed out unasked.
const ASKED_AFTER: Duration = Duration::from_millis(100);

/// The longest statement of a pool that sets none: far beyond anything we do, and yet an end.
pub(crate) const LONGEST_STATEMENT: Duration = Duration::from_secs(60);
/// The longest wait for a lock, unless a transaction sets its own.
pub const LONGEST_LOCK_WAIT: Duration = Duration::from_secs(20);

/// Settings of a session (`set`) or a transaction (`set local`) whose statements probe tables by key: plans are kept, and what the planner
/// believes of a table's size decides nothing.
macro_rules! probing_settings {
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
pub(crate) use probing_settings;

/// Where and how to connect.
#[derive(Clone)]
pub struct PoolSettings {
    /// `postgres://…`
    pub url: String,
    /// The most connections at once.
    pub max_connections: u32,
    /// As `pg_stat_activity` shows it.
    pub application_name: String,
    /// What stops a statement that takes too long; none: a minute.
    pub statement_timeout: Option<Duration>,
}

impl PoolSettings {
    /// Ten connections, under the name `headgate`.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            max_connections: 10,
            application_name: "headgate".to_owned(),
            statement_timeout: None,
        }
    }
}

impl std::fmt::Debug for PoolSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The address may contain a password.
        f.debug_struct("PoolSettings")
            .field("max_connections", &self.max_connections)
            .field("application_name", &self.application_name)
            .field("statement_timeout", &self.statement_timeout)
            .finish_non_exhaustive()
    }
}

/// Opens a pool and its first connection.
///
/// # Errors
/// When the address cannot be read or nobody answers there.
pub async fn connect(settings: &PoolSettings) -> Result<PgPool, QueueError> {
    let pool = connect_lazy(settings)?;
    drop(pool.acquire().await?);
    Ok(pool)
}

/// The same without connecting: the first use does.
///
/// # Errors
/// When the address cannot be read.
pub fn connect_lazy(settings: &PoolSettings) -> Result<PgPool, QueueError> {
    let options = PgConnectOptions::from_str(&settings.url)?.application_name(&settings.application_name);
    let statement_timeout = settings.statement_timeout.unwrap_or(LONGEST_STATEMENT);
    Ok(guarded(settings.max_connections, statement_timeout, ASKED_AFTER).connect_lazy_with(options))
}

/// A pool for what is done in the background again and again, under a name of its own: neither uses the other's connections up. One that broke
/// within the last seconds is found out by the statement, which is repeated soon.
pub(crate) fn background(pool: &PgPool, name: &str, most: u32) -> PgPool {
    guarded(most, LONGEST_STATEMENT, PATIENCE)
        .connect_lazy_with((*pool.connect_options()).clone().application_name(name))
}

fn guarded(most: u32, statement_timeout: Duration, asked_after: Duration) -> PgPoolOptions {
    PgPoolOptions::new()
        .max_connections(most)
        .acquire_timeout(PATIENCE)
        .max_lifetime(Duration::from_secs(30 * 60))
        .idle_timeout(Duration::from_secs(5 * 60))
        // The hooks below do.
        .test_before_acquire(false)
        .after_connect(move |connection, _| {
            Box::pin(async move {
                prepare(connection, Some(statement_timeout)).await?;
                set_lock_timeout(connection, LONGEST_LOCK_WAIT).await
            })
        })
        .before_acquire(move |connection, metadata| {
            Box::pin(async move {
                // It was asked when it was put back, which nobody waits for; what broke since tells the next statement.
                if metadata.idle_for < asked_after { Ok(true) } else { is_sound(connection).await }
            })
        })
        .after_release(|connection, _| Box::pin(is_sound(connection)))
}

/// Connections for single statements that probe tables by key, and are run again and again. No transaction may be begun on them; with the
/// other pool's address and settings.
#[must_use]
pub fn probing(pool: &PgPool, most: u32) -> PgPool {
    PgPoolOptions::new()
        .max_connections(most)
        .acquire_timeout(PATIENCE)
        .max_lifetime(Duration::from_secs(30 * 60))
        .idle_timeout(Duration::from_secs(5 * 60))
        .test_before_acquire(false)
        .after_connect(|connection, _| {
            Box::pin(async move {
                // Later than those who wait for an answer: one that comes too late is no refusal.
                prepare(connection, Some(PATIENCE * 2)).await?;
                sqlx::raw_sql(probing_settings!("set")).execute(connection).await?;
                Ok(())
            })
        })
        .connect_lazy_with((*pool.connect_options()).clone())
}

/// The session settings of every connection: no JIT (it added 40 ms to a claim of 2 ms), UTC, and an end for peers that vanish.
///
/// The search path is fixed because by default it begins with the schema of the user's own name: for a user `headgate` the list of
/// applied migrations would be looked for in another schema once ours exists, and every migration would be applied again.
pub(crate) async fn prepare(
    connection: &mut PgConnection,
    statement_timeout: Option<Duration>,
) -> Result<(), sqlx::Error> {
    let statement_ms = statement_timeout.map_or(0, |timeout| timeout.as_millis());
    let settings = format!(
        "set jit = off; set timezone = 'UTC'; set search_path = public; set statement_timeout = {statement_ms}; \
         set idle_in_transaction_session_timeout = '15s'; set tcp_keepalives_idle = 10; \
         set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3; set tcp_user_timeout = '25s'; \
         set client_connection_check_interval = '5s'"
    );
    sqlx::raw_sql(AssertSqlSafe(settings)).execute(connection).await?;
    Ok(())
}

pub(crate) async fn set_lock_timeout(
    connection: &mut PgConnection,
    timeout: Duration,
) -> Result<(), sqlx::Error> {
    let setting = format!("set lock_timeout = {}", timeout.as_millis());
    sqlx::raw_sql(AssertSqlSafe(setting)).execute(connection).await?;
    Ok(())
}

/// Begins a transaction, or a part of [the one](crate::one_transaction) its pool is in; on another connection when the one it got turns out to be broken, because nothing is done by then. For those whom
/// somebody waits for: after the database was away each connection of the pool may be one that broke since it was last asked.
///
/// # Errors
/// When the database is away.
pub async fn begin(pool: &PgPool, begin: &str) -> Result<Transaction<'static, Postgres>, QueueError> {
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

/// Whether the connection is of no use, and another one may be.
fn is_broken(error: &sqlx::Error) -> bool {
    is_unavailable(error) && !matches!(error, sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed)
}

/// Commits what went well, and undoes what did not before it says so: whoever tries a part of it again would meet its locks otherwise.
pub(crate) async fn end<T>(
    transaction: Transaction<'_, Postgres>,
    answer: Result<T, QueueError>,
) -> Result<T, QueueError> {
    if answer.is_ok() {
        transaction.commit().await?;
    } else {
        transaction.rollback().await?;
    }
    answer
}

/// Refuses a connection that is inside a transaction, or does not answer in time.
///
/// By the simple protocol a statement outside a transaction starts one of its own, at the very microsecond; inside one, the
/// transaction is older than the statement.
pub(crate) async fn is_sound(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let asked = sqlx::raw_sql("select now() = statement_timestamp()").fetch_one(connection);
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(row)) => {
            let is_outside: bool = row.try_get(0)?;
            if !is_outside {
                tracing::warn!("a connection came back inside a transaction and is closed");
            }
            Ok(is_outside)
        }
        Ok(Err(error)) => Err(error),
        Err(_) => {
            tracing::warn!("a connection does not answer and is closed");
            Ok(false)
        }
    }
}

/// Finds out whether a transaction pooler stands between: a notification it swallows tells.
///
/// # Errors
/// [`QueueError::TransactionPooler`] when one does.
pub async fn refuse_transaction_pooler(pool: &PgPool) -> Result<(), QueueError> {
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
