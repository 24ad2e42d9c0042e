//! Numbers of jobs by state over time, for charts.

use chrono::{DateTime, Utc};
use model::stats::{Levels, LevelsBucket, Window};
use queue::error::QueueError;
use sqlx::PgPool;

/// The buckets of a window that ends now or at `until`, with the maximum recorded in each. Buckets are a minute at least.
pub async fn levels(
    pool: &PgPool,
    window: Window,
    until: Option<DateTime<Utc>>,
) -> Result<Levels, QueueError> {
    let step_seconds = window.step_seconds().max(60);
    let buckets = window.seconds() / step_seconds;
    let buckets = sqlx::query_as!(
        LevelsBucket,
        r#"
        with slots as materialized (
            select to_timestamp((floor(extract(epoch from coalesce($3, statement_timestamp())) / $1::int) - back) * $1::int) as at
            from generate_series(0, $2::int - 1) back
        ), counted as (
            select to_timestamp(floor(extract(epoch from at) / $1::int) * $1::int) as bucket_at, max(backlog) as backlog,
                max(processing) as processing, max(to_be_retried) as to_be_retried, max(dead_letters) as dead_letters
            from headgate.total_minutes
            where at >= (select min(at) from slots) and at <= coalesce($3, statement_timestamp())
            group by 1
        )
        select s.at as "at!", c.backlog, c.processing, c.to_be_retried, c.dead_letters
        from slots s
        left join counted c on c.bucket_at = s.at
        order by s.at
        "#,
        step_seconds,
        buckets,
        until,
    )
    .fetch_all(pool)
    .await?;
    Ok(Levels { step_seconds, buckets })
}
