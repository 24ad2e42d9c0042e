-- Accepts jobs that nothing can be folded into and that stand in no line: no deduplication id, no serialize key. What `enqueue.sql` does
-- for all, with nothing that these do not need: a third of its cost.
--
-- Each step unnests the columns it needs by itself: carrying whole rows, payloads and all, from step to step costs more.
with moment as materialized (
    select clock_timestamp() as now
), stored as (
    insert into headgate.jobs (
        id, app_id, integration_id, batch_id, created_at, run_at, expires_at, timeout_ms, rank, previous_rank, priority, max_attempts,
        is_full, follows_batch, job_type, record_type, record_id, correlation_id, payload
    )
    select g.id, g.app_id, g.integration_id, g.batch_id,
        -- The order of acceptance is the order of the input.
        m.now + g.position * interval '1 microsecond', coalesce(g.run_at, m.now + g.position * interval '1 microsecond'), g.expires_at,
        g.timeout_ms, g.rank, g.rank, g.priority, g.max_attempts, g.is_full,
        -- A record's job that comes with a batch is a re-sync's.
        g.batch_id is not null and g.record_id is not null, g.job_type, g.record_type, g.record_id, g.correlation_id, g.payload
    from unnest(
        $1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::timestamptz[], $6::timestamptz[], $7::int[], $8::smallint[], $9::smallint[],
        $10::smallint[], $11::boolean[], $12::text[], $13::text[], $14::text[], $15::text[], $16::jsonb[], $17::int[]
    ) as g (
        id, app_id, integration_id, batch_id, run_at, expires_at, timeout_ms, rank, priority, max_attempts, is_full, job_type, record_type,
        record_id, correlation_id, payload, position
    ) cross join moment m
), now_ready as (
    insert into headgate.ready (integration_id, rank, created_at, job_id)
    select g.integration_id, g.rank, m.now + g.position * interval '1 microsecond', g.id
    from unnest($1::uuid[], $3::uuid[], $8::smallint[], $5::timestamptz[], $17::int[]) as g (id, integration_id, rank, run_at, position)
    cross join moment m
    where g.run_at is null or g.run_at <= m.now
), for_later as (
    insert into headgate.waiting (due_at, job_id, integration_id)
    select g.run_at, g.id, g.integration_id
    from unnest($1::uuid[], $3::uuid[], $5::timestamptz[]) as g (id, integration_id, run_at)
    cross join moment m
    where g.run_at > m.now
), batched as (
    insert into headgate.batch_deltas (batch_id, total)
    select g.batch_id, count(*) from unnest($4::uuid[]) as g (batch_id) where g.batch_id is not null group by g.batch_id
)
insert into headgate.job_count_deltas (integration_id, status, attempt, n)
select g.integration_id, 0, 0, count(*) from unnest($3::uuid[]) as g (integration_id) group by g.integration_id
