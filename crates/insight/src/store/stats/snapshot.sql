-- The gauges of all integrations, or of one: counters with their unfolded deltas, the last minute, the tightest limit, last success and error.
with counted as materialized (
    select integration_id, status, attempt, sum(n)::bigint as n
    from (
        select integration_id, status, attempt, n from headgate.job_counts
        union all
        select integration_id, status, attempt, n from headgate.job_count_deltas
    ) kept
    where $1::uuid is null or integration_id = $1
    group by integration_id, status, attempt
    having sum(n) <> 0
), sums as materialized (
    select integration_id, array_agg(status order by status, attempt) as statuses, array_agg(attempt order by status, attempt) as attempts,
        array_agg(n order by status, attempt) as counts, coalesce(sum(n) filter (where status in (0, 2)), 0) > 0 as may_wait
    from counted
    group by integration_id
), done as (
    -- The bucket that begins before the last minute counts with the share of it that lies inside.
    select integration_id, completed + unchanged as delivered, retried + dead as failed, completed + unchanged + dead + cancelled as ended,
        least(1.0, extract(epoch from bucket_at + interval '70 seconds' - statement_timestamp()) / 10.0) as share
    from headgate.throughput
    where step_seconds = 10 and bucket_at > statement_timestamp() - interval '70 seconds' and ($1::uuid is null or integration_id = $1)
    union all
    select integration_id, completed + unchanged, retried + dead, completed + unchanged + dead + cancelled, 1.0
    from headgate.throughput_deltas
    where at > statement_timestamp() - interval '60 seconds' and ($1::uuid is null or integration_id = $1)
), paces as materialized (
    select integration_id, round(sum(delivered * share))::bigint as delivered, round(sum(failed * share))::bigint as failed,
        round(sum(ended * share))::bigint as ended
    from done
    group by integration_id
)
select statement_timestamp() as "at!", i.id as "integration_id: IntegrationId", i.app_id as "app_id: AppId", a.name as app_name, i.name,
    i.integration_type, i.state, i.state_reason, i.max_concurrency, b.state as "breaker_state?", b.since as "breaker_since?",
    b.probe_at as "probe_at?", b.held_until as "breaker_held_until?", b.failures_in_a_row as "failures_in_a_row?", b.at_once as "at_once?",
    b.reason as "breaker_reason?",
    coalesce(s.statuses, '{}') as "statuses!", coalesce(s.attempts, '{}') as "attempts!", coalesce(s.counts, '{}') as "counts!",
    coalesce(p.delivered, 0) as "delivered!", coalesce(p.failed, 0) as "failed!", coalesce(p.ended, 0) as "ended!",
    case when o.oldest_at is not null then greatest(extract(epoch from statement_timestamp() - o.oldest_at)::bigint, 0) end
        as oldest_pending_age_seconds,
    case when l.quiet_until > statement_timestamp() then l.quiet_until end as held_until,
    t.requests as "limit_requests?", t.per_seconds as "limit_per_seconds?", t.emission_us as "limit_emission_us?", t.used as "limit_used?",
    m.last_success_at as "last_success_at?", m.error_at as "error_at?", m.error_message as "error_message?", m.error_status as "error_status?"
from headgate.integrations i
join headgate.apps a on a.id = i.app_id
left join sums s on s.integration_id = i.id
left join paces p on p.integration_id = i.id
left join headgate.lanes l on l.integration_id = i.id
left join headgate.breakers b on b.integration_id = i.id and b.state <> 'closed'
left join headgate.integration_marks m on m.integration_id = i.id
left join lateral (
    -- Not for idle lanes.
    select headgate.oldest_ready_at(i.id) as oldest_at where s.may_wait
) o on true
left join lateral (
    select r.requests, r.per_seconds, r.emission_us, headgate.slots_used(r) as used
    from headgate.rate_limits r
    where r.key = any (l.limit_keys)
    order by r.emission_us desc, r.key
    limit 1
) t on true
where $1::uuid is null or i.id = $1
order by i.id
