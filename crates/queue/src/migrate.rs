//! The schema, embedded, and how it is brought up to date while other processes work on it.

use crate::error::{QueueError, is_race};
use sqlx::{
    Connection as _, PgConnection, PgPool,
    migrate::{MigrateError, Migrator},
};
use std::{borrow::Cow, time::Duration};

/// Every migration of `migrations/`.
pub static MIGRATOR: Migrator = sqlx::migrate!("../../migrations");

/// One process migrates at a time: class and object of the advisory lock. (The claim holds 4711, 1; making partitions 4711, 2.)
const LOCK: (i32, i32) = (4711, 3);
/// How long another process may take before we give up.
const PATIENCE: Duration = Duration::from_secs(120);

/// Where sqlx notes by default what was applied.
const SHARED: &str = "public._sqlx_migrations";
/// Where it is noted that a program with migrations of its own is not disturbed.
const OWN: &str = "headgate._sqlx_migrations";

/// Applies what is missing, as the program `headgate` does, whose database is its own.
///
/// The lock is polled instead of waited for, so that nobody waits inside a transaction, and every statement has a
/// `lock_timeout`: an `alter table` that queues behind a long reader would hold up every claim behind it (RELIABILITY 2.28).
///
/// # Errors
/// When the database is away, another process holds the lock too long, or a migration fails.
pub async fn run(pool: &PgPool) -> Result<(), QueueError> {
    run_with(pool, SHARED).await
}

/// The same for a program that keeps tables of its own in the database, and may have migrations of its own too: they share no list with
/// these, so that neither meets the other's numbers. A database that [`run`] has made stays as it is. ([`Runner`](crate::Runner) calls this.)
///
/// # Errors
/// As with [`run`].
pub async fn run_beside(pool: &PgPool) -> Result<(), QueueError> {
    run_with(pool, OWN).await
}

async fn run_with(pool: &PgPool, unless_noted: &'static str) -> Result<(), QueueError> {
    let mut connection = pool.acquire().await?.detach();
    crate::pool::prepare(&mut connection, None).await?;
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !try_lock(&mut connection).await? {
        if tokio::time::Instant::now() > deadline {
            return Err(QueueError::Timeout);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let result = apply(&mut connection, unless_noted, deadline).await;
    // Closing the connection gives the lock back, whatever happened.
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

/// The list of what was applied, if there is one.
async fn noted_in(connection: &mut PgConnection) -> Result<Option<&'static str>, QueueError> {
    let (has_shared, has_own): (bool, bool) =
        sqlx::query_as("select to_regclass($1) is not null, to_regclass($2) is not null")
            .bind(SHARED)
            .bind(OWN)
            .fetch_one(&mut *connection)
            .await?;
    let first = MIGRATOR.iter().next().filter(|_| has_shared && !has_own);
    let Some(first) = first else { return Ok(has_own.then_some(OWN)) };
    // Another program's list may stand there: it has a first migration too.
    let is_ours = sqlx::query_scalar(
        "select exists (select 1 from public._sqlx_migrations where version = $1 and checksum = $2)",
    )
    .bind(first.version)
    .bind(&*first.checksum)
    .fetch_one(connection)
    .await?;
    if is_ours { Ok(Some(SHARED)) } else { Ok(None) }
}

async fn apply(
    connection: &mut PgConnection,
    unless_noted: &'static str,
    deadline: tokio::time::Instant,
) -> Result<(), QueueError> {
    sqlx::raw_sql("set lock_timeout = '500ms'").execute(&mut *connection).await?;
    let table = noted_in(connection).await?.unwrap_or(unless_noted);
    if table == OWN {
        // Asked first: a user who may not make schemas may still find this one made.
        let is_missing = sqlx::query_scalar("select to_regnamespace('headgate') is null");
        if is_missing.fetch_one(&mut *connection).await? {
            sqlx::raw_sql("create schema headgate").execute(&mut *connection).await?;
        }
    }
    let migrator = Migrator {
        migrations: Cow::Borrowed(&MIGRATOR.migrations),
        locking: false,
        // A newer process of a rolling upgrade may have been here already.
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

/// The database's schema, compared with what this program knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schema {
    /// Migrations are to be applied.
    Behind,
    /// The very same.
    Current,
    /// A newer process of a rolling upgrade was here: this program runs on it all the same.
    Ahead,
}

/// How far the schema is.
///
/// # Errors
/// When the database is away.
pub async fn schema(pool: &PgPool) -> Result<Schema, QueueError> {
    let newest = MIGRATOR.iter().map(|migration| migration.version).max();
    let mut connection = pool.acquire().await?;
    let sql = match noted_in(&mut connection).await? {
        None => return Ok(Schema::Behind),
        Some(OWN) => "select max(version) from headgate._sqlx_migrations where success",
        Some(_) => "select max(version) from public._sqlx_migrations where success",
    };
    let applied: Option<i64> = sqlx::query_scalar(sql).fetch_one(&mut *connection).await?;
    Ok(match applied.cmp(&newest) {
        std::cmp::Ordering::Less => Schema::Behind,
        std::cmp::Ordering::Equal => Schema::Current,
        std::cmp::Ordering::Greater => Schema::Ahead,
    })
}
