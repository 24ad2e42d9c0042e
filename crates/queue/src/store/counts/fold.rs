//! Folding appended deltas into counters.
//!
//! Each fold is one statement that deletes a portion of deltas and adds their sums, so that a statement that reads counters and deltas
//! sees every change exactly once. Locked deltas are skipped: two folds never wait for each other. Rows are written
//! in the order of their keys, as by every other statement that writes many rows.

use crate::{error::Result, store::leader::Term};
use model::id::WorkerId;
use sqlx::PgPool;

/// Deltas folded by one statement.
pub const PORTION: i64 = 10_000;

/// Folds `job_count_deltas` into `job_counts`; returns how many deltas.
pub async fn job_counts(pool: &PgPool, term: Term) -> Result<i64> {
    fold_job_counts(pool, Some(term)).await
}

/// The same by a process that does not lead, if it finds more than `many` deltas: every claim sums them, so they must not pile up while
/// there is no leader, or while it is busy. Any number of processes may fold at once, because locked deltas are skipped.
pub async fn job_counts_if_many(pool: &PgPool, many: i64) -> Result<i64> {
    let are_many = sqlx::query_scalar!(
        r#"
        select count(*) > $1::bigint as "are_many!" from (select 1 from headgate.job_count_deltas limit $1::bigint + 1) first
        "#,
        many,
    )
    .fetch_one(pool)
    .await?;
    if are_many { fold_job_counts(pool, None).await } else { Ok(0) }
}

async fn fold_job_counts(pool: &PgPool, term: Option<Term>) -> Result<i64> {
    let folded = sqlx::query_scalar!(
        r#"
        with taken as materialized (
            delete from headgate.job_count_deltas
            where ctid = any (array(
                select ctid from headgate.job_count_deltas
                where (select $1::uuid is null or headgate.is_leader($1, $2))
                limit $3 for update skip locked
            ))
            returning integration_id, status, attempt, n
        ), sums as (
            select integration_id, status, attempt, sum(n)::bigint as n
            from taken
            group by integration_id, status, attempt
            having sum(n) <> 0
            order by integration_id, status, attempt
        ), added as (
            insert into headgate.job_counts as c (integration_id, status, attempt, n)
            select integration_id, status, attempt, n from sums
            on conflict (integration_id, status, attempt) do update set n = c.n + excluded.n
        )
        select count(*) as "folded!" from taken
        "#,
        term.map(|term| term.holder) as Option<WorkerId>,
        term.map(|term| term.number),
        PORTION,
    )
    .fetch_one(pool)
    .await?;
    Ok(folded)
}

/// Folds `batch_deltas` into `batches`, and drops those of deleted batches; returns how many deltas.
pub async fn batches(pool: &PgPool, term: Term) -> Result<i64> {
    let folded = sqlx::query_scalar!(
        r#"
        with taken as materialized (
            delete from headgate.batch_deltas
            where ctid = any (array(
                select ctid from headgate.batch_deltas
                where (select headgate.is_leader($1, $2))
                limit $3 for update skip locked
            ))
            returning batch_id, total, succeeded, failed, cancelled
        ), sums as materialized (
            select batch_id, sum(total) as total, sum(succeeded) as succeeded, sum(failed) as failed, sum(cancelled) as cancelled
            from taken
            group by batch_id
        ), locked as materialized (
            select b.id from headgate.batches b
            where b.id in (select batch_id from sums)
            order by b.id for no key update
        ), added as (
            update headgate.batches b
            set total = b.total + s.total, succeeded = b.succeeded + s.succeeded, failed = b.failed + s.failed,
                cancelled = b.cancelled + s.cancelled
            from sums s join locked l on l.id = s.batch_id
            where b.id = s.batch_id
        )
        select count(*) as "folded!" from taken
        "#,
        term.holder as WorkerId,
        term.number,
        PORTION,
    )
    .fetch_one(pool)
    .await?;
    Ok(folded)
}
