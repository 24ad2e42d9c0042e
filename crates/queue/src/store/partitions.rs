//! Day partitions of finished jobs and attempts: created ahead by every process, dropped by retention.
//!
//! There is no default partition: a row in it would block the creation of its day's partition.

use crate::error::Result;
use crate::pool;
use crate::store::leader::{self, Term};
use chrono::NaiveDate;
use sqlx::{AssertSqlSafe, Connection, PgConnection, PgPool};
use std::time::Duration;

/// Days created ahead, so that a deployment without a leader for a week still finishes jobs.
const DAYS_AHEAD: i32 = 7;
/// Short, because everyone else would queue behind our request for the lock.
const LOCK_TIMEOUT: &str = "500ms";

/// Creates the missing partitions of today and the next seven days (UTC). Any number of processes may do so at once.
///
/// # Errors
/// [`crate::QueueError::Database`] when the locks are not granted within a few tries.
pub async fn make_ahead(pool: &PgPool) -> Result<i32> {
    let mut tries_left = 5;
    loop {
        match try_make_ahead(pool).await {
            Err(sqlx::Error::Database(error)) if is_lock_timeout(error.as_ref()) && tries_left > 0 => {
                tries_left -= 1;
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            made => return Ok(made?),
        }
    }
}

async fn try_make_ahead(pool: &PgPool) -> Result<i32, sqlx::Error> {
    let mut transaction = pool.begin().await?;
    sqlx::query(AssertSqlSafe(format!("set local lock_timeout = '{LOCK_TIMEOUT}'")))
        .execute(&mut *transaction)
        .await?;
    let made = sqlx::query_scalar!(r#"select headgate.make_partitions($1) as "made!""#, DAYS_AHEAD)
        .fetch_one(&mut *transaction)
        .await?;
    transaction.commit().await?;
    Ok(made)
}

fn is_lock_timeout(error: &dyn sqlx::error::DatabaseError) -> bool {
    error.code().as_deref() == Some("55P03")
}

/// A partition whose day is past its retention.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Expired {
    parent: String,
    name: String,
    /// A detach was interrupted: it must be finished first.
    is_half_detached: bool,
    /// Only the table is left to drop.
    is_detached: bool,
}

/// Drops the partitions whose whole day is older than `retention`; returns how many.
///
/// They are detached concurrently first: a plain drop would lock the parent against every finish and read while it waits for the longest
/// of them. That needs a connection of its own, outside any transaction.
///
/// # Errors
/// `TermOver` when the term is over; [`crate::QueueError::Database`] when the locks are not granted in time: the next run continues.
pub async fn drop_expired(pool: &PgPool, term: Term, retention: Duration) -> Result<usize> {
    // No statement timeout: a concurrent detach waits for the transactions of others, which may take longer than a statement may elsewhere.
    let mut conn = pool::connect_alone(pool, None).await?;
    let dropped = drop_on(&mut conn, term, retention).await;
    // Nothing is pending on the connection: a failed close loses nothing.
    let _ = conn.close().await;
    dropped
}

async fn drop_on(conn: &mut PgConnection, term: Term, retention: Duration) -> Result<usize> {
    sqlx::query(AssertSqlSafe(format!("set lock_timeout = '{LOCK_TIMEOUT}'"))).execute(&mut *conn).await?;
    let expired = expired(conn, retention).await?;
    for Expired { parent, name, is_half_detached, is_detached } in &expired {
        leader::confirm(conn, term).await?;
        if !is_detached {
            let how = if *is_half_detached { "finalize" } else { "concurrently" };
            // Both names were read from the catalogue and have the form <parent>_<digits>.
            sqlx::query(AssertSqlSafe(format!(
                "alter table headgate.{parent} detach partition headgate.{name} {how}"
            )))
            .execute(&mut *conn)
            .await?;
        }
        sqlx::query(AssertSqlSafe(format!("drop table headgate.{name}"))).execute(&mut *conn).await?;
        tracing::info!(partition = %name, "dropped a partition past its retention");
    }
    Ok(expired.len())
}

async fn expired(conn: &mut PgConnection, retention: Duration) -> Result<Vec<Expired>> {
    let rows = sqlx::query!(
        r#"
        select parent as "parent!", c.relname as "name!",
            coalesce(h.inhdetachpending, false) as "is_half_detached!", h.inhrelid is null as "is_detached!",
            (clock_timestamp() - make_interval(secs => $1)) at time zone 'UTC' as "kept_since!"
        from unnest(array['finished_jobs', 'job_attempts']) parent
        join pg_class c on c.relnamespace = 'headgate'::regnamespace and c.relkind = 'r'
            and c.relname ~ ('^' || parent || '_[0-9]{8}$')
        left join pg_inherits h on h.inhrelid = c.oid
        order by c.relname
        "#,
        retention.as_secs_f64(),
    )
    .fetch_all(conn)
    .await?;
    let is_over = |name: &str, kept_since: chrono::NaiveDateTime| {
        day_of(name)
            .and_then(|day| day.succ_opt())
            .is_some_and(|end| end.and_time(chrono::NaiveTime::MIN) <= kept_since)
    };
    Ok(rows
        .into_iter()
        .filter(|row| is_over(&row.name, row.kept_since))
        .map(|row| Expired {
            parent: row.parent,
            name: row.name,
            is_half_detached: row.is_half_detached,
            is_detached: row.is_detached,
        })
        .collect())
}

fn day_of(name: &str) -> Option<NaiveDate> {
    NaiveDate::parse_from_str(name.rsplit('_').next()?, "%Y%m%d").ok()
}
