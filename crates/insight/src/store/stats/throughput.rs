//! Throughput over time for charts: every bucket is present, zeros are filled in, and deltas that are not folded yet are included.

use super::latency;
use chrono::{DateTime, Utc};
use model::actor::Scope;
use model::id::{AppId, IntegrationId};
use model::stats::{Throughput, ThroughputBucket, Window};
use queue::{error::QueueError, store::counts::latency::Spans};
use sqlx::PgPool;
use std::collections::HashMap;

/// The buckets of a window that ends now, of one integration or of all in scope.
///
/// # Errors
/// `NotFound` when the scope has no such integration.
pub async fn throughput(
    pool: &PgPool,
    scope: Scope,
    integration_id: Option<IntegrationId>,
    window: Window,
) -> Result<Throughput, QueueError> {
    throughput_until(pool, scope, integration_id, window, None).await
}

/// The same for a window that ends at `until`, if given. Steps of 10 seconds are kept for an hour only, so a past window has
/// steps of at least a minute.
///
/// # Errors
/// `NotFound` when the scope has no such integration.
pub async fn throughput_until(
    pool: &PgPool,
    scope: Scope,
    integration_id: Option<IntegrationId>,
    window: Window,
    until: Option<DateTime<Utc>>,
) -> Result<Throughput, QueueError> {
    if let Some(id) = integration_id {
        require_integration(pool, scope, id).await?;
    }
    let steps = Steps::of(window, until);
    // All integrations together have rows of their own: those of thousands of integrations are millions a day.
    let sum = (integration_id.is_none() && scope == Scope::AllApps).then_some(latency::ALL);
    let source = if sum.is_some() { steps.of_sums } else { steps.of_integrations };
    let rows = sqlx::query!(
        r#"
        with slots as materialized (
            select to_timestamp((floor(extract(epoch from coalesce($7, statement_timestamp())) / $3::int) - back) * $3::int) as at
            from generate_series(0, $4::int - 1) back
        ), own as materialized (
            select id from headgate.integrations
            where ($1::uuid is null or id = $1) and ($2::uuid is null or app_id = $2)
        ), seen as materialized (
            select id from own where $6::uuid is null
            union all
            select $6 where $6 is not null
        ), counted as (
            select bucket_at as at, completed, unchanged, retried, dead, cancelled, limited
            from headgate.throughput
            where step_seconds = $5 and bucket_at >= (select min(at) from slots)
                and bucket_at <= coalesce($7, statement_timestamp()) and integration_id in (select id from seen)
            union all
            select at, completed, unchanged, retried, dead, cancelled, limited
            from headgate.throughput_deltas
            where at >= (select min(at) from slots) and at <= coalesce($7, statement_timestamp())
                and ($6 is not null or integration_id in (select id from own))
        )
        select s.at as "at!", coalesce(sum(c.completed), 0)::bigint as "completed!",
            coalesce(sum(c.unchanged), 0)::bigint as "unchanged!", coalesce(sum(c.retried), 0)::bigint as "retried!",
            coalesce(sum(c.dead), 0)::bigint as "dead!", coalesce(sum(c.cancelled), 0)::bigint as "cancelled!",
            coalesce(sum(c.limited), 0)::bigint as "limited!"
        from slots s
        left join counted c on to_timestamp(floor(extract(epoch from c.at) / $3) * $3) = s.at
        group by s.at
        order by s.at
        "#,
        integration_id as Option<IntegrationId>,
        scope.app_id() as Option<AppId>,
        steps.step_seconds,
        steps.buckets,
        source,
        sum,
        until,
    )
    .fetch_all(pool)
    .await?;
    let spans = spans(pool, scope, integration_id, steps, until).await?;
    let mut all = Spans::default();
    let mut buckets = Vec::with_capacity(rows.len());
    for row in rows {
        let own = spans.get(&row.at);
        own.iter().for_each(|own| all.merge(own));
        buckets.push(ThroughputBucket {
            at: row.at,
            completed: row.completed,
            unchanged: row.unchanged,
            retried: row.retried,
            dead: row.dead,
            cancelled: row.cancelled,
            limited: row.limited,
            latency: own.and_then(|own| own.latency.percentiles()),
            wait: own.and_then(|own| own.wait.percentiles()),
        });
    }
    Ok(Throughput {
        step_seconds: steps.step_seconds,
        buckets,
        latency: all.latency.percentiles(),
        wait: all.wait.percentiles(),
    })
}

/// Durations by bucket. There are sums of the whole deployment and, for the window of a day, of an app.
async fn spans(
    pool: &PgPool,
    scope: Scope,
    integration_id: Option<IntegrationId>,
    steps: Steps,
    until: Option<DateTime<Utc>>,
) -> Result<HashMap<DateTime<Utc>, Spans>, QueueError> {
    let sum = match (integration_id, scope.app_id()) {
        (None, None) => Some(latency::ALL),
        (None, Some(app_id)) if steps.of_sums == latency::DAY_STEP => Some(app_id.0),
        _ => None,
    };
    let step = if sum.is_some() { steps.of_sums } else { steps.of_integrations };
    let rows = sqlx::query!(
        r#"
        with own as materialized (
            select id from headgate.integrations where ($1::uuid is null or id = $1) and ($2::uuid is null or app_id = $2)
        ), seen as materialized (
            select id from own where $6::uuid is null
            union all
            select $6 where $6 is not null
        ), counted as (
            select bucket_at as at, latency, wait
            from headgate.throughput
            where step_seconds = $4
                and bucket_at >= to_timestamp(
                    (floor(extract(epoch from coalesce($8, statement_timestamp())) / $3::int) - $5::int + 1) * $3::int
                )
                and bucket_at <= coalesce($8, statement_timestamp())
                and latency <> '{}' and integration_id in (select id from seen)
            union all
            select at, latency, wait
            from headgate.latency_deltas
            where ($7 or integration_id in (select id from own)) and at <= coalesce($8, statement_timestamp())
        )
        select to_timestamp(floor(extract(epoch from at) / $3::int) * $3::int) as "at!", latency as "latency!", wait as "wait!" from counted
        "#,
        integration_id as Option<IntegrationId>,
        scope.app_id() as Option<AppId>,
        steps.step_seconds,
        step,
        steps.buckets,
        sum,
        sum == Some(latency::ALL),
        until,
    )
    .fetch_all(pool)
    .await?;
    let mut spans = HashMap::<DateTime<Utc>, Spans>::new();
    for row in rows {
        spans.entry(row.at).or_default().merge(&Spans::of(row.latency, row.wait));
    }
    Ok(spans)
}

/// A window's buckets, and the steps of the rollups they are read from: the coarsest that divide a bucket and are kept for long enough.
#[derive(Clone, Copy)]
struct Steps {
    step_seconds: i32,
    buckets: i32,
    of_integrations: i32,
    of_sums: i32,
}

impl Steps {
    fn of(window: Window, until: Option<DateTime<Utc>>) -> Self {
        let (of_integrations, of_sums) = match window {
            Window::Quarter if until.is_none() => (10, 10),
            Window::Quarter | Window::Hour | Window::SixHours => (60, 60),
            Window::Day => (60, latency::DAY_STEP),
            Window::Week => (3_600, 3_600),
        };
        let step_seconds = window.step_seconds().max(of_integrations);
        Self { step_seconds, buckets: window.seconds() / step_seconds, of_integrations, of_sums }
    }
}

pub(super) async fn require_integration(
    pool: &PgPool,
    scope: Scope,
    id: IntegrationId,
) -> Result<(), QueueError> {
    let is_there = sqlx::query_scalar!(
        r#"
        select exists (
            select 1 from headgate.integrations where id = $1 and ($2::uuid is null or app_id = $2)
        ) as "is_there!"
        "#,
        id as IntegrationId,
        scope.app_id() as Option<AppId>,
    )
    .fetch_one(pool)
    .await?;
    if is_there { Ok(()) } else { Err(QueueError::NotFound) }
}
