//! Deletes rows past their retention, in chunks so that no statement keeps a snapshot for long.
//!
//! The clock is read once a statement (`select clock_timestamp()`): read for each row, it could not be looked up in an index, and a run
//! that finds nothing to delete would read all rows. For the same reason tables with several retentions are queried for one retention
//! after the other, in the order of the index: a join with the list of retentions reads the table from end to end.

mod deleted_records;
mod history;

pub use deleted_records::{TombstoneCursor, remove_tombstones};
pub use history::{delete_history, made_before};

use crate::{
    error::QueueError,
    store::{
        dead_letters,
        jobs::BEGIN,
        leader::{self, Term},
    },
};
use model::id::WorkerId;
use sqlx::{PgPool, Postgres, Transaction};

/// Rows deleted by one statement.
pub const CHUNK: i64 = 5_000;

/// Deletes a chunk of everything past its retention; true when there may be more.
pub async fn delete_expired(pool: &PgPool, term: Term) -> Result<bool, QueueError> {
    all_of([
        idempotency_keys(pool, term).await,
        sessions(pool, term).await,
        sign_in_traces(pool, term).await,
        empty_counters(pool, term).await,
        breaker_flips(pool, term).await,
        system_events(pool, term).await,
        dead_letters::empty_bin(pool, term).await,
    ])
}

/// A transaction of the leader, with planner settings that make its statements use the index made for them, whatever the table statistics say.
pub async fn begin(pool: &PgPool, term: Term) -> Result<Transaction<'static, Postgres>, QueueError> {
    let mut transaction = pool.begin_with(BEGIN).await?;
    leader::confirm(&mut transaction, term).await?;
    Ok(transaction)
}

/// Whether there may be more of any. A failure of one does not keep the others from running: the first error is returned at the end.
pub fn all_of<const N: usize>(deleted: [Result<u64, QueueError>; N]) -> Result<bool, QueueError> {
    let mut is_more = false;
    let mut failed = None;
    for deleted in deleted {
        match deleted {
            Ok(deleted) => is_more |= deleted >= CHUNK.unsigned_abs(),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(is_more), Err)
}

/// Kept 24 hours.
async fn idempotency_keys(pool: &PgPool, term: Term) -> Result<u64, QueueError> {
    let deleted = sqlx::query!(
        r#"
        delete from headgate.idempotency_keys
        where ctid = any (array(
            select ctid from headgate.idempotency_keys
            where created_at < (select clock_timestamp()) - interval '24 hours' and (select headgate.is_leader($1, $2))
            order by created_at limit $3
        )) and created_at < clock_timestamp() - interval '24 hours'
        "#,
        term.holder as WorkerId,
        term.number,
        CHUNK,
    )
    .execute(pool)
    .await?;
    Ok(deleted.rows_affected())
}

async fn sessions(pool: &PgPool, term: Term) -> Result<u64, QueueError> {
    let deleted = sqlx::query!(
        "delete from headgate.sessions where expires_at < clock_timestamp() and (select headgate.is_leader($1, $2))",
        term.holder as WorkerId,
        term.number,
    )
    .execute(pool)
    .await?;
    Ok(deleted.rows_affected())
}

/// Links are deleted a day after they were used or expired, throttles a day after they stopped throttling.
async fn sign_in_traces(pool: &PgPool, term: Term) -> Result<u64, QueueError> {
    let deleted = sqlx::query!(
        r#"
        with links as (
            delete from headgate.sign_in_links
            where least(expires_at, used_at) < clock_timestamp() - interval '1 day' and (select headgate.is_leader($1, $2))
        )
        delete from headgate.sign_in_throttles
        where tat_us < (extract(epoch from clock_timestamp() - interval '1 day') * 1000000)::bigint
            and (select headgate.is_leader($1, $2))
        "#,
        term.holder as WorkerId,
        term.number,
    )
    .execute(pool)
    .await?;
    Ok(deleted.rows_affected())
}

/// A counter of 0 means the same as no row. A fold that adds to one meanwhile wins: after the wait for its row lock Postgres tests the condition again.
async fn empty_counters(pool: &PgPool, term: Term) -> Result<u64, QueueError> {
    let deleted = sqlx::query!(
        r#"
        with records as (
            -- Jobs of a record that is gone are found by its record type, which is taken from here.
            delete from headgate.record_counts c
            where n = 0 and (select headgate.is_leader($1, $2))
                and not exists (
                    select from headgate.finished_jobs j
                    where j.app_id = c.app_id and j.record_type = c.record_type and j.record_id is not null
                ) and not exists (
                    select from headgate.dead_letter_jobs j
                    where j.app_id = c.app_id and j.record_type = c.record_type and j.record_id is not null
                )
        ), in_sync as (
            -- A fold or a change concurrent with the deletion of an integration may leave a row that belongs to none.
            delete from headgate.in_sync_counts c
            where (n = 0 or not exists (select from headgate.integrations i where i.id = c.integration_id))
                and (select headgate.is_leader($1, $2))
        )
        delete from headgate.job_counts where n = 0 and (select headgate.is_leader($1, $2))
        "#,
        term.holder as WorkerId,
        term.number,
    )
    .execute(pool)
    .await?;
    Ok(deleted.rows_affected())
}

/// Kept 30 days.
async fn breaker_flips(pool: &PgPool, term: Term) -> Result<u64, QueueError> {
    let deleted = sqlx::query!(
        r#"
        delete from headgate.breaker_flips
        where id = any (array(
            select id from headgate.breaker_flips
            where at < (select clock_timestamp()) - interval '30 days' and (select headgate.is_leader($1, $2))
            order by at limit $3
        ))
        "#,
        term.holder as WorkerId,
        term.number,
        CHUNK,
    )
    .execute(pool)
    .await?;
    Ok(deleted.rows_affected())
}

/// Kept 30 days, except the event of a version that still runs: without it the version would be reported as new again. Ordered by id, which contains
/// the time.
async fn system_events(pool: &PgPool, term: Term) -> Result<u64, QueueError> {
    let deleted = sqlx::query!(
        r#"
        delete from headgate.system_events
        where id = any (array(
            select e.id from headgate.system_events e
            where e.at < (select clock_timestamp()) - interval '30 days' and (select headgate.is_leader($1, $2))
                and (e.kind <> 'version' or not exists (
                    select 1 from headgate.workers w where w.version = e.version and w.program is not distinct from e.program
                ))
            order by e.id limit $3
        ))
        "#,
        term.holder as WorkerId,
        term.number,
        CHUNK,
    )
    .execute(pool)
    .await?;
    Ok(deleted.rows_affected())
}
