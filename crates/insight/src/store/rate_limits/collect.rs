//! Copies the minutes that `reserve_slots` counts in the rows of the limits to `rate_limit_use`.
//!
//! The counts themselves are copied, not what was added since the last copy: however often it is done, by whichever leader, the sums are
//! exact, if it is done once before a third minute begins.

use model::id::WorkerId;
use queue::{error::QueueError, store::leader::Term};
use sqlx::PgPool;

/// Writes the minutes that changed, and the quarter hours they belong to; returns how many minutes.
pub async fn collect(pool: &PgPool, term: Term) -> Result<i64, QueueError> {
    let written = sqlx::query_scalar!(
        r#"
        with counted as materialized (
            select r.key, to_timestamp(m.minute * 60) as at, m.given, r.requests, r.per_seconds
            from headgate.rate_limits r
            cross join lateral (values (r.minute, r.minute_given), (r.minute_before, r.minute_before_given)) m (minute, given)
            where m.minute > extract(epoch from statement_timestamp())::bigint / 60 - 1440 and (select headgate.is_leader($1, $2))
        ), changed as materialized (
            select c.key, c.at, c.given, c.requests, c.per_seconds
            from counted c
            left join headgate.rate_limit_use u on u.step_seconds = 60 and u.key = c.key and u.bucket_at = c.at
            where u.given is distinct from c.given
        ), minutes as (
            insert into headgate.rate_limit_use (key, step_seconds, bucket_at, given, requests, per_seconds)
            select key, 60, at, given, requests, per_seconds from changed order by key, at
            on conflict (step_seconds, key, bucket_at) do update
            set given = excluded.given, requests = excluded.requests, per_seconds = excluded.per_seconds
        ), touched as materialized (
            select distinct key, to_timestamp(floor(extract(epoch from at) / 900) * 900) as at from changed
        ), quarters as (
            insert into headgate.rate_limit_use (key, step_seconds, bucket_at, given, requests, per_seconds)
            select p.key, 900, p.quarter, sum(p.given), (array_agg(p.requests order by p.at desc))[1],
                (array_agg(p.per_seconds order by p.at desc))[1]
            from (
                select key, at, to_timestamp(floor(extract(epoch from at) / 900) * 900) as quarter, given, requests, per_seconds from changed
                union all
                -- The minutes of these quarter hours that are written already and have not changed.
                select u.key, u.bucket_at, t.at, u.given, u.requests, u.per_seconds
                from touched t
                join headgate.rate_limit_use u on u.step_seconds = 60 and u.key = t.key
                    and u.bucket_at >= t.at and u.bucket_at < t.at + interval '15 minutes'
                where not exists (select from changed c where c.key = u.key and c.at = u.bucket_at)
            ) p
            group by p.key, p.quarter
            order by p.key, p.quarter
            on conflict (step_seconds, key, bucket_at) do update
            set given = excluded.given, requests = excluded.requests, per_seconds = excluded.per_seconds
        )
        select count(*) as "written!" from changed
        "#,
        term.holder as WorkerId,
        term.number,
    )
    .fetch_one(pool)
    .await?;
    Ok(written)
}
