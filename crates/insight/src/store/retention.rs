//! Deletes statistics, failures and operations past their retention, in chunks ([`queue::store::retention`] says how).

use super::operations;
use chrono::Utc;
use model::{
    id::WorkerId,
    retention::{Retained, Retentions},
};
use queue::{
    error::QueueError,
    store::{
        counts,
        leader::Term,
        retention::{CHUNK, all_of, begin, made_before},
    },
};
use sqlx::PgPool;
use std::time::Duration;

/// Deletes a chunk of everything past its retention; true when there may be more.
pub async fn delete_expired(pool: &PgPool, term: Term, kept: Retentions) -> Result<bool, QueueError> {
    all_of([
        throughput(pool, term).await,
        answers(pool, term).await,
        rate_limit_use(pool, term).await,
        failures(pool, term).await,
        operations::delete_expired(pool, term).await,
        finished_operations(pool, term, kept.of(Retained::Operations)).await,
    ])
}

/// Steps of 10 s are kept an hour, of a minute and of 15 minutes a day, of an hour 90 days; a little longer, so that the oldest bucket of a chart is
/// always complete. Minutes and quarter hours of all integrations together are kept for 3 days: a chart of yesterday goes back one more day.
async fn throughput(pool: &PgPool, term: Term) -> Result<u64, QueueError> {
    let deleted = sqlx::query!(
        r#"
        delete from headgate.throughput
        where ctid = any (array(
            select t.place
            from (
                values (10, interval '65 minutes'), (60, interval '25 hours'), (900, interval '25 hours'), (3600, interval '90 days')
            ) kept (step_seconds, age)
            cross join lateral (
                select t.ctid as place from headgate.throughput t
                where t.step_seconds = kept.step_seconds and t.bucket_at < (select clock_timestamp()) - kept.age
                    and (
                        t.integration_id <> $4 or t.step_seconds not in (60, 900)
                        or t.bucket_at < (select clock_timestamp()) - interval '3 days'
                    )
                order by t.bucket_at limit $3
            ) t
            where (select headgate.is_leader($1, $2))
            limit $3
        ))
        "#,
        term.holder as WorkerId,
        term.number,
        CHUNK,
        counts::latency::ALL,
    )
    .execute(pool)
    .await?;
    Ok(deleted.rows_affected())
}

/// Kept as long as throughput.
async fn answers(pool: &PgPool, term: Term) -> Result<u64, QueueError> {
    let deleted = sqlx::query!(
        r#"
        delete from headgate.answers
        where ctid = any (array(
            select a.place
            from (values (60, interval '25 hours'), (3600, interval '90 days')) kept (step_seconds, age)
            cross join lateral (
                select a.ctid as place from headgate.answers a
                where a.step_seconds = kept.step_seconds and a.bucket_at < (select clock_timestamp()) - kept.age
                order by a.bucket_at limit $3
            ) a
            where (select headgate.is_leader($1, $2))
            limit $3
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

/// Kept a day, and a little longer, as throughput is.
async fn rate_limit_use(pool: &PgPool, term: Term) -> Result<u64, QueueError> {
    let deleted = sqlx::query!(
        r#"
        delete from headgate.rate_limit_use
        where ctid = any (array(
            select u.place
            from (values (60), (900)) kept (step_seconds)
            cross join lateral (
                select u.ctid as place from headgate.rate_limit_use u
                where u.step_seconds = kept.step_seconds and u.bucket_at < (select clock_timestamp()) - interval '25 hours'
                order by u.bucket_at limit $3
            ) u
            where (select headgate.is_leader($1, $2))
            limit $3
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

/// The trend is kept 26 hours; groups without waiting jobs and dead letters, 7 days after the last failure; counts of deleted integrations are deleted
/// at once.
async fn failures(pool: &PgPool, term: Term) -> Result<u64, QueueError> {
    let deleted = sqlx::query_scalar!(
        r#"
        with trend as (
            delete from headgate.failure_trend
            where ctid = any (array(
                select ctid from headgate.failure_trend
                where bucket_at < (select clock_timestamp()) - interval '26 hours' and (select headgate.is_leader($1, $2))
                limit $3
            ))
            returning 1
        ), counts as (
            delete from headgate.failure_counts c
            where (select headgate.is_leader($1, $2)) and waiting = 0 and dead = 0
                and (
                    last_at < (select clock_timestamp()) - interval '7 days'
                    or not exists (select 1 from headgate.integrations i where i.id = c.integration_id)
                )
            returning 1
        ), groups as (
            delete from headgate.failure_groups
            where (select headgate.is_leader($1, $2)) and waiting = 0 and dead = 0
                and last_at < (select clock_timestamp()) - interval '7 days'
        )
        select count(*) as "deleted!" from trend
        "#,
        term.holder as WorkerId,
        term.number,
        CHUNK,
    )
    .fetch_one(pool)
    .await?;
    Ok(deleted.unsigned_abs())
}

async fn finished_operations(pool: &PgPool, term: Term, kept: Duration) -> Result<u64, QueueError> {
    let mut transaction = begin(pool, term).await?;
    let deleted = sqlx::query!(
        r#"
        with deletions as (
            delete from headgate.deletions
            where id < $1 and finished_at < (select clock_timestamp()) - make_interval(secs => $2)
        )
        delete from headgate.operations
        where id = any (array(
            select id from headgate.operations
            where id < $1 and finished_at < (select clock_timestamp()) - make_interval(secs => $2)
            order by id limit $3
        ))
        "#,
        made_before(kept, Utc::now()),
        kept.as_secs_f64(),
        CHUNK,
    )
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(deleted.rows_affected())
}
