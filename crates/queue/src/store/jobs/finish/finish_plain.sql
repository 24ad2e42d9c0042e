-- Ends a batch of leased jobs in the usual case: completed (3) or cancelled (4), without a successor. It is `finish.sql` without everything that
-- these do not need, for a third of its cost. Jobs with a successor are left to that statement (`left`).
--
-- Rows are locked as in `finish.sql`. Deleting without locking first would save a WAL record per job, but jobs that are left to the other statement
-- would be locked out of order (a test deadlocks).
with locked as materialized (
    select g.n, g.action, g.outcome, g.duration_ms, j.assignment_id is not distinct from g.assignment_id as is_ours, j.has_successor,
        j.id, j.integration_id, j.attempt, j.batch_id, j.app_id, j.worker_id, j.created_at, j.run_at, j.expires_at, j.started_at, j.timeout_ms,
        j.priority, j.max_attempts, j.is_full, j.folded, j.twins, j.correlation_ids, j.earlier_correlations, j.traceparent,
        j.job_type, j.record_type, j.record_id, j.deduplication_id, j.serialize_key,
        j.correlation_id, j.payload, g.response_status, g.response_excerpt, g.result
    from (
        -- Unnested side by side in the select list, null columns as empty arrays: see `enqueue_plain.sql`.
        select generate_series(1, cardinality($1::uuid[])::bigint) as n, unnest($1::uuid[]) as id, unnest($2::uuid[]) as assignment_id,
            unnest($3::smallint[]) as action, unnest($4::text[]) as outcome, unnest($5::smallint[]) as response_status,
            unnest($6::text[]) as response_excerpt, unnest($7::int[]) as duration_ms, unnest($8::jsonb[]) as result
        order by n
    ) g
    cross join lateral (
        -- A locking read returns the newest version of the row: it sees a successor that a fold added before we got the lock.
        select j.*, j.successor is not null as has_successor
        from headgate.jobs j where j.id = g.id
        for update offset 0
    ) j
), gone as not materialized (
    select l.* from locked l where l.is_ours and not l.has_successor
), deleted as (
    -- By an array, not by a join: with statistics that say there is one job, the join began by reading all of them.
    delete from headgate.jobs j where j.id = any (array(select d.id from gone d))
), finished as (
    insert into headgate.finished_jobs (
        id, app_id, integration_id, batch_id, worker_id, created_at, run_at, expires_at, started_at, finished_at, duration_ms, timeout_ms,
        status, priority, attempt, max_attempts, response_status, is_full, folded, twins, correlation_ids, earlier_correlations, traceparent,
        job_type, record_type, record_id, deduplication_id,
        serialize_key, correlation_id, outcome, response_excerpt, payload, result
    )
    select d.id, d.app_id, d.integration_id, d.batch_id, d.worker_id, d.created_at, d.run_at, d.expires_at, d.started_at,
        clock_timestamp(), d.duration_ms, d.timeout_ms, d.action, d.priority, d.attempt, d.max_attempts, d.response_status, d.is_full,
        d.folded, d.twins, d.correlation_ids, d.earlier_correlations, d.traceparent,
        d.job_type, d.record_type, d.record_id, d.deduplication_id, d.serialize_key, d.correlation_id, d.outcome,
        d.response_excerpt, d.payload, d.result
    from gone d
), failing_no_more as (
    -- A job at its first attempt cannot have failed before: nothing is searched for it.
    delete from headgate.failing_jobs f where f.job_id = any (array(select d.id from gone d where d.attempt > 1))
), counted as (
    insert into headgate.job_count_deltas (integration_id, status, attempt, n)
    select integration_id, 1, attempt, -count(*) from gone group by integration_id, attempt
), measured as (
    insert into headgate.throughput_deltas (integration_id, completed, unchanged, cancelled, duration_ms)
    select integration_id, count(*) filter (where action = 3 and outcome <> 'unchanged'),
        count(*) filter (where action = 3 and outcome = 'unchanged'),
        count(*) filter (where action = 4), coalesce(sum(duration_ms) filter (where action = 3), 0)
    from gone
    group by integration_id
), batched as (
    insert into headgate.batch_deltas (batch_id, succeeded, cancelled)
    select batch_id, count(*) filter (where action = 3), count(*) filter (where action = 4)
    from gone
    where batch_id is not null
    group by batch_id
)
select coalesce(array_agg(l.n) filter (where l.is_ours and not l.has_successor), '{}') as "applied!",
    coalesce(array_agg(l.n) filter (where not l.is_ours), '{}') as "lost!",
    coalesce(array_agg(l.n order by l.n) filter (where l.is_ours and l.has_successor), '{}') as "left!"
from locked l
