-- The everyday end of a batch of held jobs: completed (3) or called off (4), nothing waits behind them. What `finish.sql` does for all
-- ends, with nothing that these do not need: a third of its cost. Whatever it does not answer is left to that statement: a job with a
-- successor, one whose lease was lost, one that someone changed at this very moment.
--
-- The rows come sorted by (integration, deduplication id, id), the order in which jobs are locked everywhere. They are found by primary
-- key, one probe each (`offset 0` keeps the planner from turning the loop around: with a join it once scanned all leases for
-- every batch, 6 times slower), and deleted in that order where they lie, lease and all tested again there. A row that was changed
-- meanwhile lies elsewhere and is left; locking it first, so that it could be followed, would cost every job a second WAL record.
with found as materialized (
    select g.n, g.assignment_id, g.action, g.outcome, g.response_status, g.response_excerpt, g.duration_ms, g.result, j.place
    from (
        select u.* from unnest(
            $1::uuid[], $2::uuid[], $3::smallint[], $4::text[], $5::smallint[], $6::text[], $7::int[], $8::jsonb[]
        ) with ordinality as u (id, assignment_id, action, outcome, response_status, response_excerpt, duration_ms, result, n)
        order by u.n
    ) g
    cross join lateral (select j.ctid as place from headgate.jobs j where j.id = g.id offset 0) j
), gone as materialized (
    delete from headgate.jobs j using found f
    where j.ctid = f.place and j.assignment_id = f.assignment_id and j.successor is null
    returning j.integration_id, j.attempt, f.action, f.outcome, f.duration_ms, j.batch_id, f.n, j.id, j.app_id, j.worker_id, j.created_at,
        j.run_at, j.expires_at, j.started_at, j.timeout_ms, j.priority, j.max_attempts, j.is_full, j.folded, j.job_type, j.record_type,
        j.record_id, j.deduplication_id, j.serialize_key, j.correlation_id, j.payload, f.response_status, f.response_excerpt, f.result
), finished as (
    insert into headgate.finished_jobs (
        id, app_id, integration_id, batch_id, worker_id, created_at, run_at, expires_at, started_at, finished_at, duration_ms, timeout_ms,
        status, priority, attempt, max_attempts, response_status, is_full, folded, job_type, record_type, record_id, deduplication_id,
        serialize_key, correlation_id, outcome, response_excerpt, payload, result
    )
    select d.id, d.app_id, d.integration_id, d.batch_id, d.worker_id, d.created_at, d.run_at, d.expires_at, d.started_at,
        clock_timestamp(), d.duration_ms, d.timeout_ms, d.action, d.priority, d.attempt, d.max_attempts, d.response_status, d.is_full,
        d.folded, d.job_type, d.record_type, d.record_id, d.deduplication_id, d.serialize_key, d.correlation_id, d.outcome,
        d.response_excerpt, d.payload, d.result
    from gone d
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
select coalesce(array_agg(g.n), '{}') as "applied!" from gone g
