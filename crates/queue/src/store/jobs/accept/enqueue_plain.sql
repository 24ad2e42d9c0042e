-- Accepts jobs with neither deduplication id nor serialize key: `enqueue.sql` without everything that these do not need, for a third of its cost.
--
-- Each step unnests the columns it needs by itself: carrying whole rows, payloads included, from step to step costs more. They are unnested
-- side by side in a select list, which yields one row at a time; in `from`, Postgres first stores every column separately (a fifth of the
-- statement). A column with only nulls comes as an empty array, which `unnest` fills up.
with moment as materialized (
    select clock_timestamp() as now
), stored as (
    insert into headgate.jobs (
        id, app_id, integration_id, batch_id, created_at, run_at, expires_at, timeout_ms, rank, previous_rank, priority, max_attempts,
        is_full, follows_batch, job_type, record_type, record_id, correlation_id, traceparent, payload
    )
    select g.id, g.app_id, g.integration_id, g.batch_id, g.created_at, coalesce(g.run_at, g.created_at), g.expires_at, g.timeout_ms,
        g.rank, g.rank, g.priority, g.max_attempts, g.is_full,
        -- A job of a record that comes with a batch belongs to a re-sync.
        g.batch_id is not null and g.record_id is not null, g.job_type, g.record_type, g.record_id, g.correlation_id, g.traceparent,
        g.payload
    from (
        select unnest($1::uuid[]) as id, unnest($2::uuid[]) as app_id, unnest($3::uuid[]) as integration_id,
            unnest($4::uuid[]) as batch_id, unnest($5::timestamptz[]) as run_at, unnest($6::timestamptz[]) as expires_at,
            unnest($7::int[]) as timeout_ms, unnest($8::smallint[]) as rank, unnest($9::smallint[]) as priority,
            unnest($10::smallint[]) as max_attempts, unnest($11::boolean[]) as is_full, unnest($12::text[]) as job_type,
            unnest($13::text[]) as record_type, unnest($14::text[]) as record_id, unnest($15::text[]) as correlation_id,
            unnest($16::jsonb[]) as payload, unnest($18::text[]) as traceparent,
            -- Jobs are accepted in the order of the input.
            m.now + unnest($17::int[]) * interval '1 microsecond' as created_at
        from moment m
    ) g
), now_ready as (
    insert into headgate.ready (integration_id, rank, created_at, job_id)
    select g.integration_id, g.rank, g.created_at, g.id
    from (
        select unnest($1::uuid[]) as id, unnest($3::uuid[]) as integration_id, unnest($8::smallint[]) as rank,
            unnest($5::timestamptz[]) as run_at, m.now + unnest($17::int[]) * interval '1 microsecond' as created_at, m.now
        from moment m
    ) g
    where g.run_at is null or g.run_at <= g.now
), for_later as (
    insert into headgate.waiting (due_at, job_id, integration_id)
    select g.run_at, g.id, g.integration_id
    from unnest($1::uuid[], $3::uuid[], $5::timestamptz[]) as g (id, integration_id, run_at)
    cross join moment m
    -- If no job has a time, that array is empty, and the others are not read.
    where $5::timestamptz[] <> '{}' and g.run_at > m.now
), batched as (
    insert into headgate.batch_deltas (batch_id, total)
    select g.batch_id, count(*) from unnest($4::uuid[]) as g (batch_id) where g.batch_id is not null group by g.batch_id
)
insert into headgate.job_count_deltas (integration_id, status, attempt, n)
select g.integration_id, 0, 0, count(*) from unnest($3::uuid[]) as g (integration_id) group by g.integration_id
