-- Accepts one job of a program's own lane, in one statement that can be its own transaction: as `enqueue_plain.sql` does for many, but it also reads
-- the lane's settings and locks the lane. It returns no row when the lane was deleted or is disabled.
with lane as materialized (
    select i.id, i.app_id, i.max_attempts, i.timeout_ms, clock_timestamp() as now
    from headgate.integrations i
    where i.id = $2 and i.state <> 'disabled'
    for key share
), stored as (
    insert into headgate.jobs (
        id, app_id, integration_id, created_at, run_at, expires_at, timeout_ms, rank, priority, max_attempts, job_type, correlation_id, payload
    )
    select $1, l.app_id, l.id, l.now, coalesce($3, l.now), $4, coalesce($5, l.timeout_ms), $6, $7, coalesce($8, l.max_attempts, $9), $10, $11, $12
    from lane l
    returning id, integration_id, rank, created_at, run_at
), now_ready as (
    insert into headgate.ready (integration_id, rank, created_at, job_id)
    select integration_id, rank, created_at, id from stored where run_at <= created_at
), for_later as (
    insert into headgate.waiting (due_at, job_id, integration_id)
    select run_at, id, integration_id from stored where run_at > created_at
), counted as (
    insert into headgate.job_count_deltas (integration_id, status, attempt, n)
    select integration_id, 0, 0, 1 from stored
)
select id as "id!: JobId" from stored
