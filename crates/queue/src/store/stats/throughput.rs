//! What was done over time, as charts show it: every bucket there, noughts filled in, deltas not folded yet included.

use crate::error::QueueError;
use model::{
    actor::Scope,
    id::{AppId, IntegrationId},
    stats::{Throughput, ThroughputBucket, Window},
};
use sqlx::PgPool;

/// The buckets of a window, of one integration or of all the scope may see.
///
/// # Errors
/// `NotFound` when the scope has no such integration.
pub async fn throughput(
    pool: &PgPool,
    scope: Scope,
    integration_id: Option<IntegrationId>,
    window: Window,
) -> Result<Throughput, QueueError> {
    if let Some(id) = integration_id {
        require_integration(pool, scope, id).await?;
    }
    let buckets = sqlx::query_as!(
        ThroughputBucket,
        r#"
        with slots as materialized (
            select to_timestamp((floor(extract(epoch from statement_timestamp()) / $3::int) - back) * $3::int) as at
            from generate_series(0, $4::int - 1) back
        ), seen as materialized (
            select id from headgate.integrations
            where ($1::uuid is null or id = $1) and ($2::uuid is null or app_id = $2)
        ), counted as (
            select bucket_at as at, completed, unchanged, retried, dead, cancelled, limited
            from headgate.throughput
            where step_seconds = $5 and bucket_at >= (select min(at) from slots) and integration_id in (select id from seen)
            union all
            select at, completed, unchanged, retried, dead, cancelled, limited
            from headgate.throughput_deltas
            where at >= (select min(at) from slots) and integration_id in (select id from seen)
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
        window.step_seconds(),
        window.buckets(),
        source_step(window),
    )
    .fetch_all(pool)
    .await?;
    Ok(Throughput { step_seconds: window.step_seconds(), buckets })
}

/// The rollup a window is read from: the coarsest that divides its buckets and is kept long enough.
fn source_step(window: Window) -> i32 {
    match window {
        Window::Hour | Window::Day => 60,
        Window::Week => 3600,
    }
}

async fn require_integration(pool: &PgPool, scope: Scope, id: IntegrationId) -> Result<(), QueueError> {
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
