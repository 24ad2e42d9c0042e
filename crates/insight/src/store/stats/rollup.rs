//! Throughput: deltas of the finishing statements are summed in steps of 10 s, a minute and an hour, and for all integrations together in steps of 15
//! minutes too.

use super::latency::{ALL, DAY_STEP};
use model::id::WorkerId;
use queue::error::QueueError;
use queue::store::counts::fold::PORTION;
use queue::store::leader::Term;
use sqlx::PgPool;

/// Folds `throughput_deltas` into `throughput`, `integration_marks` (the last success of each integration) and the sums since the beginning;
/// returns how many deltas.
pub async fn throughput(pool: &PgPool, term: Term) -> Result<i64, QueueError> {
    let folded = sqlx::query_scalar!(
        r#"
        with taken as materialized (
            delete from headgate.throughput_deltas
            where ctid = any (array(
                select ctid from headgate.throughput_deltas
                where (select headgate.is_leader($1, $2))
                limit $3 for update skip locked
            ))
            returning integration_id, at, completed, unchanged, retried, dead, cancelled, limited, lost, duration_ms
        ), tens as materialized (
            select integration_id, to_timestamp(floor(extract(epoch from at) / 10) * 10) as at, sum(completed)::bigint as completed,
                sum(unchanged)::bigint as unchanged, sum(retried)::bigint as retried, sum(dead)::bigint as dead,
                sum(cancelled)::bigint as cancelled, sum(limited)::bigint as limited, sum(duration_ms)::bigint as duration_ms
            from taken
            group by 1, 2
        ), sums as (
            select t.integration_id, s.step_seconds,
                to_timestamp(floor(extract(epoch from t.at) / s.step_seconds) * s.step_seconds) as bucket_at,
                sum(t.completed)::bigint as completed, sum(t.unchanged)::bigint as unchanged, sum(t.retried)::bigint as retried,
                sum(t.dead)::bigint as dead, sum(t.cancelled)::bigint as cancelled, sum(t.limited)::bigint as limited,
                sum(t.duration_ms)::bigint as duration_ms
            from (
                select integration_id, at, completed, unchanged, retried, dead, cancelled, limited, duration_ms, array[10, 60, 3600] as steps
                from tens
                union all
                select $4::uuid, at, completed, unchanged, retried, dead, cancelled, limited, duration_ms, array[10, 60, $5::int, 3600]
                from tens
            ) t
            cross join unnest(t.steps) s (step_seconds)
            group by 1, 2, 3
            order by 2, 3, 1
        ), added as (
            insert into headgate.throughput as t (integration_id, step_seconds, bucket_at, completed, unchanged, retried, dead,
                cancelled, limited, duration_ms)
            select integration_id, step_seconds, bucket_at, completed, unchanged, retried, dead, cancelled, limited, duration_ms
            from sums
            on conflict (step_seconds, bucket_at, integration_id) do update
            set completed = t.completed + excluded.completed, unchanged = t.unchanged + excluded.unchanged,
                retried = t.retried + excluded.retried, dead = t.dead + excluded.dead,
                cancelled = t.cancelled + excluded.cancelled, limited = t.limited + excluded.limited,
                duration_ms = t.duration_ms + excluded.duration_ms
        ), marked as (
            -- Not for integrations deleted meanwhile.
            insert into headgate.integration_marks as m (integration_id, last_success_at)
            select t.integration_id, max(t.at)
            from taken t join headgate.integrations i on i.id = t.integration_id
            where t.completed > 0
            group by t.integration_id
            order by t.integration_id
            on conflict (integration_id) do update
            set last_success_at = greatest(m.last_success_at, excluded.last_success_at)
        ), ever as (
            update headgate.totals o
            set completed = o.completed + n.completed, unchanged = o.unchanged + n.unchanged, retried = o.retried + n.retried,
                dead = o.dead + n.dead, cancelled = o.cancelled + n.cancelled, limited = o.limited + n.limited,
                lost = o.lost + n.lost
            from (
                select sum(completed) as completed, sum(unchanged) as unchanged, sum(retried) as retried, sum(dead) as dead,
                    sum(cancelled) as cancelled, sum(limited) as limited, sum(lost) as lost, count(*) as n
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
