//! Answers of external systems, counted by HTTP status; they are appended and folded together with the latencies.

use model::actor::Scope;
use model::id::IntegrationId;
use model::stats::{Answers, AnswersBucket, StatusCount, Window};
use queue::error::QueueError;
use sqlx::PgPool;
use std::collections::HashMap;

use super::throughput::require_integration;

/// The answers of a window by bucket; those of the last second are still in the memory of the processes.
///
/// # Errors
/// `NotFound` when the scope has no such integration.
pub async fn answers(
    pool: &PgPool,
    scope: Scope,
    integration_id: IntegrationId,
    window: Window,
) -> Result<Answers, QueueError> {
    require_integration(pool, scope, integration_id).await?;
    // Minutes are kept for a day only.
    let source_step = if window == Window::Week { 3_600 } else { 60 };
    let step_seconds = window.step_seconds().max(source_step);
    let rows = sqlx::query!(
        r#"
        with slots as materialized (
            select to_timestamp((floor(extract(epoch from statement_timestamp()) / $2::int) - back) * $2::int) as at
            from generate_series(0, $3::int - 1) back
        ), counted as (
            select bucket_at as at, status, n
            from headgate.answers
            where integration_id = $1 and step_seconds = $4 and bucket_at >= (select min(at) from slots)
            union all
            select d.at, u.status, u.n::bigint
            from headgate.latency_deltas d, unnest(d.statuses, d.status_counts) u (status, n)
            where d.integration_id = $1
        ), summed as (
            select to_timestamp(floor(extract(epoch from at) / $2) * $2) as at, status, sum(n)::bigint as n
            from counted group by 1, 2
        )
        select s.at as "at!", c.status as "status?", c.n as "n?"
        from slots s left join summed c on c.at = s.at
        order by s.at, c.status
        "#,
        integration_id as IntegrationId,
        step_seconds,
        window.seconds() / step_seconds,
        source_step,
    )
    .fetch_all(pool)
    .await?;
    let mut buckets = Vec::<AnswersBucket>::new();
    for row in rows {
        if buckets.last().is_none_or(|last| last.at != row.at) {
            buckets.push(AnswersBucket { at: row.at, statuses: Vec::new() });
        }
        if let (Some(bucket), Some(status), Some(count)) = (buckets.last_mut(), row.status, row.n) {
            bucket.statuses.push(StatusCount { status, count });
        }
    }
    Ok(Answers { step_seconds, buckets })
}

/// The last five minutes by integration: the number of answers, and how many of them were 429.
pub async fn recent(
    pool: &PgPool,
    only: Option<IntegrationId>,
) -> Result<HashMap<IntegrationId, (i64, i64)>, QueueError> {
    let rows = sqlx::query!(
        r#"
        select integration_id as "integration_id!: IntegrationId", sum(n)::bigint as "all!",
            coalesce(sum(n) filter (where status = 429), 0)::bigint as "refused!"
        from (
            select integration_id, status, n from headgate.answers
            where step_seconds = 60 and bucket_at > statement_timestamp() - interval '5 minutes'
                and ($1::uuid is null or integration_id = $1)
            union all
            select d.integration_id, u.status, u.n::bigint
            from headgate.latency_deltas d, unnest(d.statuses, d.status_counts) u (status, n)
            where $1::uuid is null or d.integration_id = $1
        ) counted
        group by integration_id
        "#,
        only as Option<IntegrationId>,
    )
    .fetch_all(pool)
    .await?;
    Ok(rows.into_iter().map(|row| (row.integration_id, (row.all, row.refused))).collect())
}
