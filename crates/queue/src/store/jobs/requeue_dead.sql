-- Brings a dead letter back as the job it was, with all attempts before it. When a live job of the same deduplication id exists, that one
-- takes the work over: it is locked, so that it cannot end meanwhile, and the dead letter becomes a job that was called off.
with gone as materialized (
    delete from headgate.dead_letter_jobs d
    where ($1::uuid is null or d.job_id = $1) and ($2::uuid is null or d.id = $2) and ($3::uuid is null or d.app_id = $3)
        and ($1::uuid is not null or $2::uuid is not null)
        and exists (select 1 from headgate.lanes l where l.integration_id = d.integration_id)
    returning d.job_id, d.app_id, d.integration_id, d.batch_id, d.worker_id, d.created_at, d.expires_at, d.started_at, d.timeout_ms, d.rank,
        d.priority, d.attempt, d.max_attempts, d.may_have_arrived, d.is_full, d.folded, d.job_type, d.record_type, d.record_id, d.deduplication_id,
        d.serialize_key, d.correlation_id, d.payload
), stored as materialized (
    insert into headgate.jobs as j (
        id, app_id, integration_id, batch_id, created_at, timeout_ms, rank, previous_rank, priority, max_attempts, is_full, folded,
        job_type, record_type, record_id, deduplication_id, serialize_key, correlation_id, payload, expires_at, may_have_arrived
    )
    select g.job_id, g.app_id, g.integration_id, g.batch_id, g.created_at, g.timeout_ms, g.rank, g.rank, g.priority, g.max_attempts,
        g.is_full, g.folded, g.job_type, g.record_type, g.record_id, g.deduplication_id, g.serialize_key, g.correlation_id,
        -- Someone wants it to run although its time may have passed.
        g.payload, case when g.expires_at > clock_timestamp() then g.expires_at end, g.may_have_arrived
    from gone g
    on conflict (integration_id, deduplication_id) where deduplication_id is not null do update
    set is_full = j.is_full or (j.status <> 1 and excluded.is_full), may_have_arrived = j.may_have_arrived or excluded.may_have_arrived
    returning j.id, coalesce((j.successor ->> 'id')::uuid, j.id) as worker_of_it, j.integration_id, j.rank, j.created_at, j.serialize_key
), now_ready as (
    insert into headgate.ready (integration_id, rank, created_at, job_id)
    select s.integration_id, s.rank, s.created_at, s.id from stored s join gone g on g.job_id = s.id
    where s.serialize_key is null
    on conflict do nothing
), coalesced as (
    insert into headgate.finished_jobs (
        id, app_id, integration_id, batch_id, worker_id, created_at, run_at, expires_at, started_at, timeout_ms, status, priority, attempt,
        max_attempts, is_full, folded, job_type, record_type, record_id, deduplication_id, serialize_key, correlation_id, outcome, payload
    )
    select g.job_id, g.app_id, g.integration_id, g.batch_id, g.worker_id, g.created_at, g.created_at, g.expires_at, g.started_at, g.timeout_ms,
        4, g.priority, g.attempt, g.max_attempts, g.is_full, g.folded, g.job_type, g.record_type, g.record_id, g.deduplication_id,
        g.serialize_key, g.correlation_id, 'coalesced into ' || s.worker_of_it, g.payload
    from gone g cross join stored s where s.id <> g.job_id
), counted as (
    insert into headgate.job_count_deltas (integration_id, status, attempt, n)
    select g.integration_id, 5, g.attempt, -1 from gone g
    union all
    select g.integration_id, 0, 0, 1 from gone g join stored s on s.id = g.job_id
), batched as (
    insert into headgate.batch_deltas (batch_id, failed, cancelled)
    select g.batch_id, -1, case when s.id = g.job_id then 0 else 1 end
    from gone g cross join stored s where g.batch_id is not null
)
select s.worker_of_it as "id!: JobId", g.job_id as "job_id!: JobId", s.id = g.job_id as "is_back!"
from gone g cross join stored s
