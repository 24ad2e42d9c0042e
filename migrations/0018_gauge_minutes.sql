-- The deployment as it was, a row a minute: sparklines, yesterday's ghost, charts of the backlog and `?at=` read it. Written by the sampler,
-- which tests its term. Nothing decides by it. Older workers run on this schema: they write no such rows, and a minute without one is shown
-- as a gap.

-- Sums over all integrations, 8 days: small, and alone in their table, so that a chart reads no gauges.
create table headgate.total_minutes (
    -- The minute's beginning.
    at timestamptz primary key,
    sampled_at timestamptz not null,
    backlog bigint not null,
    processing bigint not null,
    to_be_retried bigint not null,
    dead_letters bigint not null,
    delivered_per_minute bigint not null,
    failed_per_minute bigint not null,
    oldest_pending_age_seconds bigint,
    workers bigint not null,
    -- By attempts made.
    retry_pyramid bigint[] not null
);

-- Every gauge, 26 hours. One in an hour is whole; the others say what differs from it (store/stats/minutes/body.rs), so that 5,000
-- integrations of which few work cost what those few cost.
create table headgate.gauge_minutes (
    at timestamptz primary key,
    -- The minute whose row is whole: this one itself, or one of the hour before.
    whole_at timestamptz not null,
    -- JSON, deflated: what repeats is most of it, and below 2 kB Postgres would compress nothing.
    body bytea not null
);
alter table headgate.gauge_minutes alter column body set storage external;

-- What was done, of all integrations together, from here on has rows of its own under the nil id (store/stats/rollup.rs): the chart of a
-- deployment of thousands reads as few rows as that of one integration. What is kept becomes such rows here. While processes of the version
-- before lead, which add to the integrations' rows alone, these tell too little of their minutes.
insert into headgate.throughput as t (integration_id, step_seconds, bucket_at, completed, unchanged, retried, dead, cancelled, limited,
    duration_ms)
select '00000000-0000-0000-0000-000000000000', c.step_seconds, c.bucket_at, sum(completed), sum(unchanged), sum(retried), sum(dead),
    sum(cancelled), sum(limited), sum(duration_ms)
from headgate.throughput o
cross join lateral (
    select o.step_seconds, o.bucket_at
    union all
    select 900, to_timestamp(floor(extract(epoch from o.bucket_at) / 900) * 900) where o.step_seconds = 60
) c
group by c.step_seconds, c.bucket_at
on conflict (step_seconds, bucket_at, integration_id) do update
set completed = excluded.completed, unchanged = excluded.unchanged, retried = excluded.retried, dead = excluded.dead,
    cancelled = excluded.cancelled, limited = excluded.limited, duration_ms = excluded.duration_ms;

-- The hour that processes of the version before have left.
insert into headgate.total_minutes (at, sampled_at, backlog, processing, to_be_retried, dead_letters, delivered_per_minute,
    failed_per_minute, oldest_pending_age_seconds, workers, retry_pyramid)
select distinct on (date_trunc('minute', s.at)) date_trunc('minute', s.at), s.at, t.backlog, t.processing, t.to_be_retried, t.dead_letters,
    t.delivered_per_minute, t.failed_per_minute, t.oldest_pending_age_seconds, coalesce((s.body ->> 'workers')::bigint, 0),
    array(select n::bigint from jsonb_array_elements_text(s.body -> 'retry_pyramid') n)
from headgate.live_snapshots s
cross join lateral jsonb_to_record(s.body -> 'totals') as t (backlog bigint, processing bigint, to_be_retried bigint, dead_letters bigint,
    delivered_per_minute bigint, failed_per_minute bigint, oldest_pending_age_seconds bigint)
order by date_trunc('minute', s.at), s.at;
