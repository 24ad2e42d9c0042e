//! Folding the deltas of record counts, as [`queue::store::counts::fold`] folds those of jobs.

use model::id::WorkerId;
use queue::QueueError;
use queue::store::counts::fold::PORTION;
use queue::store::leader::Term;
use sqlx::PgPool;

/// Folds `record_count_deltas` into `record_counts`; returns how many deltas.
pub(crate) async fn record_counts(pool: &PgPool, term: Term) -> Result<i64, QueueError> {
    let folded = sqlx::query_scalar!(
        r#"
        with taken as materialized (
            delete from headgate.record_count_deltas
            where ctid = any (array(
                select ctid from headgate.record_count_deltas
                where (select headgate.is_leader($1, $2))
                limit $3 for update skip locked
            ))
            returning app_id, record_type, n
        ), sums as (
            select app_id, record_type, sum(n)::bigint as n
            from taken
            group by app_id, record_type
            having sum(n) <> 0
            order by app_id, record_type
        ), added as (
            insert into headgate.record_counts as c (app_id, record_type, n)
            select app_id, record_type, n from sums
            on conflict (app_id, record_type) do update set n = c.n + excluded.n
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

/// Folds `in_sync_count_deltas` into `in_sync_counts`; returns how many deltas.
pub(crate) async fn in_sync_counts(pool: &PgPool, term: Term) -> Result<i64, QueueError> {
    let folded = sqlx::query_scalar!(
        r#"
        with taken as materialized (
            delete from headgate.in_sync_count_deltas
            where ctid = any (array(
                select ctid from headgate.in_sync_count_deltas
                where (select headgate.is_leader($1, $2))
                limit $3 for update skip locked
            ))
            returning integration_id, record_type, n
        ), sums as (
            select integration_id, record_type, sum(n)::bigint as n
            from taken
            group by integration_id, record_type
            having sum(n) <> 0
            order by integration_id, record_type
        ), added as (
            insert into headgate.in_sync_counts as c (integration_id, record_type, n)
            select integration_id, record_type, n from sums
            on conflict (integration_id, record_type) do update set n = c.n + excluded.n
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
