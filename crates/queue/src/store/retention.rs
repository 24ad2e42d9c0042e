//! Deletes rows past their retention, in portions so that no statement keeps a snapshot for long. Each crate lists those of its own tables as
//! [`Expired`] and hands them to a service of the leader ([`crate::maintenance::retention_of`]); most are made by [`expired!`](crate::expired).
//!
//! The clock is read once a statement (`select clock_timestamp()`): read for each row, it could not be looked up in an index, and a run
//! that finds nothing to delete would read all rows. For the same reason a table with several retentions has a row for each: a join with the list of
//! retentions reads the table from end to end.

use crate::error::{QueueError, Result};
use crate::store::jobs::BEGIN;
use crate::store::leader::{self, Term};
use chrono::{DateTime, TimeDelta, Utc};
use futures::future::BoxFuture;
use model::id::first_id;
use sqlx::{PgConnection, PgPool, Postgres, Transaction};
use std::time::Duration;
use uuid::Uuid;

/// Rows deleted by one statement.
pub const PORTION: i64 = 5_000;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Rows of one table that are deleted when they are old enough.
#[derive(Clone, Debug)]
pub struct Expired {
    /// The table, for the log.
    pub table: &'static str,
    /// How long rows are kept.
    pub keeps: Duration,
    /// Deletes a portion of those that are older.
    pub delete: Delete,
}

/// Deletes at most [`PORTION`] rows that are older than this; returns how many.
pub type Delete = for<'c> fn(&'c mut PgConnection, Duration) -> BoxFuture<'c, Result<u64, sqlx::Error>>;

/// The [`Expired`] rows of a table: those in which the time in a column (or expression) is past. The statement is checked when it is compiled, as any
/// other: names and condition are literals.
///
/// - `expired!("sessions", "expires_at", keeps)`; the column has an index, unless the table is small.
/// - `expired!("answers", "bucket_at", keeps, where "step_seconds = 60")`, for rows that fulfil a condition.
/// - `expired!("audit_log", "at", keeps, by id)`, for tables without an index of their times, whose ids contain the time (UUIDv7).
#[macro_export]
macro_rules! expired {
    ($table:tt, $column:tt, $keeps:expr $(, where $condition:tt)?) => {
        $crate::store::retention::Expired {
            table: $table,
            keeps: $keeps,
            delete: |connection, keeps| {
                Box::pin(async move {
                    // The time is tested again with the row locked: it may have been renewed.
                    let deleted = sqlx::query!(
                        "delete from headgate." + $table + " where ctid = any (array(select ctid from headgate." + $table + " where "
                            $(+ $condition + " and ")? + $column + " < (select clock_timestamp()) - make_interval(secs => $1) order by "
                            + $column + " limit $2)) and " + $column + " < clock_timestamp() - make_interval(secs => $1)",
                        keeps.as_secs_f64(),
                        $crate::store::retention::PORTION,
                    )
                    .execute(connection)
                    .await?;
                    Ok(deleted.rows_affected())
                })
            },
        }
    };
    ($table:tt, $column:tt, $keeps:expr, by id) => {
        $crate::store::retention::Expired {
            table: $table,
            keeps: $keeps,
            delete: |connection, keeps| {
                Box::pin(async move {
                    let deleted = sqlx::query!(
                        "delete from headgate." + $table + " where id = any (array(select id from headgate." + $table + " where id < $1 and "
                            + $column + " < (select clock_timestamp()) - make_interval(secs => $2) order by id limit $3))",
                        $crate::store::retention::made_before(keeps),
                        keeps.as_secs_f64(),
                        $crate::store::retention::PORTION,
                    )
                    .execute(connection)
                    .await?;
                    Ok(deleted.rows_affected())
                })
            },
        }
    };
}

/// The engine's own. Finished jobs go with their partitions ([`crate::store::partitions`]).
pub(crate) fn of_engine() -> Vec<Expired> {
    let month = DAY * 30;
    vec![
        Expired {
            table: "job_counts",
            keeps: Duration::ZERO,
            delete: |connection, _| Box::pin(empty_counters(connection)),
        },
        expired!("breaker_flips", "at", month),
        Expired {
            table: "system_events",
            keeps: month,
            delete: |connection, keeps| Box::pin(system_events(connection, keeps)),
        },
        expired!("bin", "binned_at", DAY),
    ]
}

/// Deletes a portion of each; true when there may be more. A failure of one does not keep the others from being deleted: the first error is returned at the
/// end.
///
/// # Errors
/// [`QueueError::TermOver`] when the term is over.
pub async fn delete_expired(pool: &PgPool, term: Term, rows: &[Expired]) -> Result<bool> {
    let mut is_more = false;
    let mut first_error = None;
    for expired in rows {
        match delete_portion(pool, term, expired).await {
            Ok(deleted) => is_more |= deleted >= PORTION.unsigned_abs(),
            Err(QueueError::TermOver) => return Err(QueueError::TermOver),
            Err(error) => {
                tracing::debug!(table = expired.table, %error, "expired rows of {} could not be deleted", expired.table);
                first_error.get_or_insert(error);
            }
        }
    }
    first_error.map_or(Ok(is_more), Err)
}

async fn delete_portion(pool: &PgPool, term: Term, expired: &Expired) -> Result<u64> {
    let mut transaction = begin(pool, term).await?;
    let deleted = (expired.delete)(&mut transaction, expired.keeps).await?;
    transaction.commit().await?;
    Ok(deleted)
}

/// A transaction of the leader, with planner settings that make its statements use the index made for them, whatever the table statistics say.
pub async fn begin(pool: &PgPool, term: Term) -> Result<Transaction<'static, Postgres>> {
    let mut transaction = pool.begin_with(BEGIN).await?;
    leader::confirm(&mut transaction, term).await?;
    Ok(transaction)
}

/// All ids made longer ago than this are smaller, with ten minutes to spare, because they come from the clocks of processes.
pub fn made_before(kept: Duration) -> Uuid {
    let kept = TimeDelta::from_std(kept).unwrap_or(TimeDelta::MAX);
    first_id(Utc::now().checked_sub_signed(kept).unwrap_or(DateTime::UNIX_EPOCH) + TimeDelta::minutes(10))
}

/// A counter of 0 means the same as no row. A fold that adds to one meanwhile wins: after the wait for its row lock Postgres tests the condition again.
async fn empty_counters(connection: &mut PgConnection) -> Result<u64, sqlx::Error> {
    let deleted = sqlx::query!("delete from headgate.job_counts where n = 0").execute(connection).await?;
    Ok(deleted.rows_affected())
}

/// Except the event of a version that still runs: without it the version would be reported as new again. Ordered by id, which contains the time.
async fn system_events(connection: &mut PgConnection, keeps: Duration) -> Result<u64, sqlx::Error> {
    let deleted = sqlx::query!(
        r#"
        delete from headgate.system_events
        where id = any (array(
            select e.id from headgate.system_events e
            where e.at < (select clock_timestamp()) - make_interval(secs => $1)
                and (e.kind <> 'version' or not exists (
                    select 1 from headgate.workers w where w.version = e.version and w.program is not distinct from e.program
                ))
            order by e.id limit $2
        ))
        "#,
        keeps.as_secs_f64(),
        PORTION,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}
