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

/// Applies what is missing.
///
/// The lock is polled instead of waited for, so that nobody waits inside a transaction, and every statement has a
/// `lock_timeout`: an `alter table` that queues behind a long reader would hold up every claim behind it (RELIABILITY 2.28).
///
/// # Errors
/// When the database is away, another process holds the lock too long, or a migration fails.
pub async fn run(pool: &PgPool) -> Result<(), QueueError> {
    let mut connection = pool.acquire().await?.detach();
    crate::pool::prepare(&mut connection, None).await?;
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !try_lock(&mut connection).await? {
        if tokio::time::Instant::now() > deadline {
            return Err(QueueError::Timeout);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let result = apply(&mut connection, deadline).await;
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

async fn apply(connection: &mut PgConnection, deadline: tokio::time::Instant) -> Result<(), QueueError> {
    sqlx::raw_sql("set lock_timeout = '500ms'").execute(&mut *connection).await?;
    let migrator = Migrator {
        migrations: Cow::Borrowed(&MIGRATOR.migrations),
        locking: false,
        // A newer process of a rolling upgrade may have been here already.
        ignore_missing: true,
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

/// Whether every migration this program knows has been applied.
///
/// # Errors
/// When the database is away.
pub async fn is_up_to_date(pool: &PgPool) -> Result<bool, QueueError> {
    let newest = MIGRATOR.iter().map(|migration| migration.version).max();
    let applied: Result<Option<i64>, sqlx::Error> =
        sqlx::query_scalar("select max(version) from _sqlx_migrations where success").fetch_one(pool).await;
    match applied {
        Ok(applied) => Ok(applied >= newest),
        Err(error) if crate::error::code(&error).as_deref() == Some("42P01") => Ok(false),
        Err(error) => Err(error.into()),
    }
}
