//! The embedded migrations, and how they are applied while other processes use the schema.

use crate::error::{QueueError, is_race};
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::{Connection as _, PgConnection, PgPool};
use std::{borrow::Cow, time::Duration};

/// The migrations of the repository's folder `migrations`.
pub static MIGRATOR: Migrator = sqlx::migrate!("../../migrations");

/// Advisory lock (class, object): one process migrates at a time. (Claims lock 4711, 1; creating partitions locks 4711, 2.)
const LOCK: (i32, i32) = (4711, 3);
/// How long another process may take to migrate before this one fails.
const LOCK_TIMEOUT: Duration = Duration::from_secs(120);

/// The default table of sqlx for applied migrations.
const DEFAULT_TABLE: &str = "public._sqlx_migrations";
/// A table of our own, so that it does not mix with the list of a program that has its own migrations.
pub(crate) const OWN_TABLE: &str = "headgate._sqlx_migrations";

/// Applies missing migrations. The list of applied ones is sqlx's own table, unless another program keeps its list there.
///
/// The lock is polled instead of awaited, so that nobody waits inside a transaction, and every statement has a `lock_timeout`: an `alter table`
/// that queues behind a long reader would block every claim behind it.
///
/// # Errors
/// [`QueueError::Timeout`] when another process keeps the lock for two minutes; [`QueueError::Migration`].
pub async fn run(pool: &PgPool) -> Result<(), QueueError> {
    run_with(pool, DEFAULT_TABLE).await
}

/// As [`run`], for a program that has tables, and perhaps sqlx migrations, of its own in the database: the list of applied migrations is a separate
/// one, so that version numbers cannot collide. A database that [`run`] has set up keeps its list. [`Runner`](crate::Runner) calls this.
///
/// # Errors
/// As [`run`].
pub async fn run_embedded(pool: &PgPool) -> Result<(), QueueError> {
    run_with(pool, OWN_TABLE).await
}

async fn run_with(pool: &PgPool, new_table: &'static str) -> Result<(), QueueError> {
    let mut connection = pool.acquire().await?.detach();
    crate::pool::prepare(&mut connection, None).await?;
    let deadline = tokio::time::Instant::now() + LOCK_TIMEOUT;
    while !try_lock(&mut connection).await? {
        if tokio::time::Instant::now() > deadline {
            return Err(QueueError::Timeout);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let result = apply(&mut connection, new_table, deadline).await;
    // Closing the connection releases the lock, whatever happened.
    connection.close().await?;
    result
}

async fn try_lock(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar("select pg_try_advisory_lock($1, $2)")
        .bind(LOCK.0)
        .bind(LOCK.1)
        .fetch_one(connection)
        .await
}

/// The table with the applied migrations, if there is one.
pub(crate) async fn migrations_table(
    connection: &mut PgConnection,
) -> Result<Option<&'static str>, QueueError> {
    let (has_shared, has_own): (bool, bool) =
        sqlx::query_as("select to_regclass($1) is not null, to_regclass($2) is not null")
            .bind(DEFAULT_TABLE)
            .bind(OWN_TABLE)
            .fetch_one(&mut *connection)
            .await?;
    let first = MIGRATOR.iter().next().filter(|_| has_shared && !has_own);
    let Some(first) = first else { return Ok(has_own.then_some(OWN_TABLE)) };
    // The table may be another program's, which has a first migration too.
    let is_ours = sqlx::query_scalar(
        "select exists (select 1 from public._sqlx_migrations where version = $1 and checksum = $2)",
    )
    .bind(first.version)
    .bind(&*first.checksum)
    .fetch_one(connection)
    .await?;
    if is_ours { Ok(Some(DEFAULT_TABLE)) } else { Ok(None) }
}

/// Whether the default table is the list of another program, and nothing of ours is in the database yet.
async fn is_default_table_anothers(connection: &mut PgConnection) -> Result<bool, QueueError> {
    let sql = "select to_regclass($1) is not null and to_regclass('headgate.jobs') is null";
    Ok(sqlx::query_scalar(sql).bind(DEFAULT_TABLE).fetch_one(connection).await?)
}

async fn apply(
    connection: &mut PgConnection,
    new_table: &'static str,
    deadline: tokio::time::Instant,
) -> Result<(), QueueError> {
    sqlx::raw_sql("set lock_timeout = '500ms'").execute(&mut *connection).await?;
    let table = if let Some(table) = migrations_table(connection).await? {
        table
    } else if is_default_table_anothers(connection).await? {
        // Our numbers in its list would stop that program's own migrations.
        OWN_TABLE
    } else {
        new_table
    };
    if table == OWN_TABLE {
        // Not `create schema if not exists`: that fails for a user without the right to create schemas even if this one exists.
        let is_missing = sqlx::query_scalar("select to_regnamespace('headgate') is null");
        if is_missing.fetch_one(&mut *connection).await? {
            sqlx::raw_sql("create schema headgate").execute(&mut *connection).await?;
        }
    }
    let migrator = Migrator {
        migrations: Cow::Borrowed(&MIGRATOR.migrations),
        locking: false,
        // A newer process of a rolling upgrade may have migrated already.
        ignore_missing: true,
        table_name: Cow::Borrowed(table),
        ..Migrator::DEFAULT
    };
    loop {
        match migrator.run_direct(None, connection, false).await {
            Err(MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _))
                if is_race(&error) && tokio::time::Instant::now() < deadline =>
            {
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
            result => return Ok(result?),
        }
    }
}
