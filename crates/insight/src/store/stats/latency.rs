//! How long attempts and waits took: histograms that processes append ([`queue::store::counts::latency`]) are folded into `throughput`.
//!
//! Rows of `throughput` under the nil id are those of all integrations together, and those under an app's id those of the app, so that a chart of either
//! reads as few rows as that of one integration. Rows of all have counts too ([`super::rollup`]). Rows of an app have histograms only, and only in the
//! step of a day's chart, which would otherwise read too much: the minutes of 40 integrations are 57,600 rows of histograms, 60 MB.

use model::id::{IntegrationId, WorkerId};
use queue::error::QueueError;
use queue::store::counts::fold::PORTION;
use queue::store::counts::latency::Spans;
use queue::store::leader::Term;
use sqlx::PgPool;
use std::collections::HashMap;

/// The id of all integrations together.
pub const ALL: uuid::Uuid = uuid::Uuid::nil();
/// The step in seconds of the sums that a day's chart reads.
pub const DAY_STEP: i32 = 900;

/// Folds `latency_deltas` into `throughput`, `answers` and the sums since the beginning; returns how many deltas.
pub async fn fold(pool: &PgPool, term: Term) -> Result<i64, QueueError> {
    // By integration first, so that few rows are left to sum for the coarser steps and for all together.
    let folded = sqlx::query_scalar!(
        r#"
        with taken as materialized (
            delete from headgate.latency_deltas
            where ctid = any (array(
                select ctid from headgate.latency_deltas
                where (select headgate.is_leader($1, $2))
                limit $3 for update skip locked
            ))
            returning integration_id, at, latency, wait, latency_us, wait_us, statuses, status_counts
        ), tens as materialized (
            select integration_id, to_timestamp(floor(extract(epoch from at) / 10) * 10) as at,
                headgate.sum_counts(latency) as latency, headgate.sum_counts(wait) as wait
            from taken
            group by 1, 2
        ), all_tens as materialized (
            select at, headgate.sum_counts(latency) as latency, headgate.sum_counts(wait) as wait from tens group by at
        ), app_tens as materialized (
            select i.app_id, t.at, headgate.sum_counts(t.latency) as latency, headgate.sum_counts(t.wait) as wait
            from tens t join headgate.integrations i on i.id = t.integration_id
            group by 1, 2
        ), sums as (
            select t.integration_id, s.step_seconds,
                to_timestamp(floor(extract(epoch from t.at) / s.step_seconds) * s.step_seconds) as bucket_at,
                headgate.sum_counts(t.latency) as latency, headgate.sum_counts(t.wait) as wait
            from (
                select integration_id, at, latency, wait, array[10, 60, 3600] as steps from tens
                union all
                select $4::uuid, at, latency, wait, array[10, 60, $5::int, 3600] from all_tens
                union all
                select app_id, at, latency, wait, array[$5::int] from app_tens
            ) t
            cross join unnest(t.steps) s (step_seconds)
            group by 1, 2, 3
            order by 2, 3, 1
        ), added as (
            insert into headgate.throughput as t (integration_id, step_seconds, bucket_at, latency, wait)
            select integration_id, step_seconds, bucket_at, latency, wait from sums
            on conflict (step_seconds, bucket_at, integration_id) do update
            set latency = headgate.add_counts(t.latency, excluded.latency), wait = headgate.add_counts(t.wait, excluded.wait)
        ), answered as (
            insert into headgate.answers as a (integration_id, step_seconds, bucket_at, status, n)
            select t.integration_id, s.step_seconds, to_timestamp(floor(extract(epoch from t.at) / s.step_seconds) * s.step_seconds),
                u.status, sum(u.n)::bigint
            from taken t, unnest(t.statuses, t.status_counts) u (status, n), (values (60), (3600)) s (step_seconds)
            group by 1, 2, 3, 4
            order by 1, 2, 3, 4
            on conflict (integration_id, step_seconds, bucket_at, status) do update set n = a.n + excluded.n
        ), ever as (
            update headgate.totals o
            set latency = headgate.add_counts(o.latency, n.latency), wait = headgate.add_counts(o.wait, n.wait),
                latency_us = o.latency_us + n.latency_us, wait_us = o.wait_us + n.wait_us
            from (
                select (select headgate.sum_counts(latency) from all_tens) as latency, (select headgate.sum_counts(wait) from all_tens) as wait,
                    sum(latency_us)::bigint as latency_us, sum(wait_us)::bigint as wait_us, count(*) as n
                from taken
            ) n
            where n.n > 0
        )
        select count(*) as "folded!" from taken
        "#,
        term.holder as WorkerId,
        term.number,
        PORTION,
        ALL,
        DAY_STEP,
    )
    .fetch_one(pool)
    .await?;
    Ok(folded)
}

/// The last five minutes of every integration in which attempts ended, or of one.
pub async fn recent(
    pool: &PgPool,
    only: Option<IntegrationId>,
) -> Result<HashMap<IntegrationId, Spans>, QueueError> {
    let rows = sqlx::query!(
        r#"
        select integration_id as "integration_id!: IntegrationId", latency as "latency!", wait as "wait!"
        from headgate.throughput
        where step_seconds = 60 and bucket_at > statement_timestamp() - interval '5 minutes' and latency <> '{}'
            and ($1::uuid is null or integration_id = $1) and integration_id <> $2
        union all
        select integration_id, latency, wait from headgate.latency_deltas where $1::uuid is null or integration_id = $1
        "#,
        only as Option<IntegrationId>,
        ALL,
    )
    .fetch_all(pool)
    .await?;
    let mut recent = HashMap::<IntegrationId, Spans>::new();
    for row in rows {
        recent.entry(row.integration_id).or_default().merge(&Spans::of(row.latency, row.wait));
    }
    Ok(recent)
}
