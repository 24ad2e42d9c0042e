//! Connection pools of the engine.
//!
//! Three things go wrong with a plain pool: a cancelled `begin()` leaves a connection inside a transaction, a peer that was cut off keeps its
//! locks for hours, and a transaction pooler delivers other clients' answers. The session settings are sent as statements because session poolers
//! refuse start-up options.

use crate::error::QueueError;
use crate::store::lock_timeout::{DEFAULT_LOCK_TIMEOUT, set_lock_timeout};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, PgPool, Row as _};
use std::{str::FromStr as _, time::Duration};

/// How long it may take to get a connection, and to check one.
pub(crate) const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection that was idle for less than this is handed out unchecked.
const CHECK_AFTER_IDLE: Duration = Duration::from_millis(100);

/// Statement time-out of a pool that sets none: far beyond any statement of ours.
pub(crate) const DEFAULT_STATEMENT_TIMEOUT: Duration = Duration::from_secs(60);

/// Address and limits of a pool.
#[derive(Clone)]
pub struct PoolSettings {
    /// `postgres://…`
    pub url: String,
    /// Most connections at once.
    pub max_connections: u32,
    /// Name of the connections in `pg_stat_activity`.
    pub application_name: String,
    /// Time-out of a statement; none: a minute.
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
pub async fn connect(settings: &PoolSettings) -> Result<PgPool, QueueError> {
    let pool = connect_lazy(settings)?;
    drop(pool.acquire().await?);
    Ok(pool)
}

/// As [`connect`], but connects at the first use.
///
/// # Errors
/// [`QueueError::Database`] when the address cannot be parsed.
pub fn connect_lazy(settings: &PoolSettings) -> Result<PgPool, QueueError> {
    let options = PgConnectOptions::from_str(&settings.url)?.application_name(&settings.application_name);
    let statement_timeout = settings.statement_timeout.unwrap_or(DEFAULT_STATEMENT_TIMEOUT);
    Ok(guarded(settings.max_connections, statement_timeout, CHECK_AFTER_IDLE).connect_lazy_with(options))
}

/// A pool for repeated background work, with a name of its own, so that neither pool uses up the other's connections. Connections are checked
/// less often: a statement that meets a broken one fails, and is repeated soon anyway.
pub(crate) fn background(pool: &PgPool, name: &str, max_connections: u32) -> PgPool {
    guarded(max_connections, DEFAULT_STATEMENT_TIMEOUT, ACQUIRE_TIMEOUT)
        .connect_lazy_with((*pool.connect_options()).clone().application_name(name))
}

fn guarded(max_connections: u32, statement_timeout: Duration, check_after: Duration) -> PgPoolOptions {
    PgPoolOptions::new()
        .max_connections(max_connections)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .max_lifetime(Duration::from_secs(30 * 60))
        .idle_timeout(Duration::from_secs(5 * 60))
        // The hooks below test it.
        .test_before_acquire(false)
        .after_connect(move |connection, _| {
            Box::pin(async move {
                prepare(connection, Some(statement_timeout)).await?;
                set_lock_timeout(connection, DEFAULT_LOCK_TIMEOUT).await
            })
        })
        .before_acquire(move |connection, metadata| {
            Box::pin(async move {
                // It was checked when it was put back, at nobody's expense; if it broke since, the next statement fails.
                if metadata.idle_for < check_after { Ok(true) } else { is_sound(connection).await }
            })
        })
        .after_release(|connection, _| Box::pin(is_sound(connection)))
}

/// A connection of its own, at the address of the pool.
pub(crate) async fn connect_alone(
    pool: &PgPool,
    statement_timeout: Option<Duration>,
) -> Result<PgConnection, sqlx::Error> {
    let mut connection = PgConnection::connect_with(&pool.connect_options()).await?;
    prepare(&mut connection, statement_timeout).await?;
    Ok(connection)
}

/// The session settings of every connection: no JIT (it added 40 ms to a claim of 2 ms), UTC, and time-outs for peers that vanish.
///
/// The search path is fixed because by default it begins with the schema named like the user: for a user `headgate` sqlx would look for the list
/// of applied migrations in our schema once that exists, and would apply every migration again.
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

/// Refuses a connection that is inside a transaction, or does not answer in time.
///
/// Under the simple protocol a statement outside a transaction starts its own one in the same microsecond; inside a transaction, that is older
/// than the statement.
pub(crate) async fn is_sound(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let check = sqlx::raw_sql("select now() = statement_timestamp()").fetch_one(connection);
    match tokio::time::timeout(ACQUIRE_TIMEOUT, check).await {
        Ok(Ok(row)) => {
            let is_outside: bool = row.try_get(0)?;
            if !is_outside {
                tracing::warn!("closed a connection that was still inside a transaction");
            }
            Ok(is_outside)
        }
        Ok(Err(error)) => Err(error),
        Err(_) => {
            tracing::warn!("closed a connection that does not answer");
            Ok(false)
        }
    }
}
