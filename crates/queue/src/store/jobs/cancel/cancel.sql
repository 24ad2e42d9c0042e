-- Cancels live jobs. Their entries in `waiting` and `ready` were removed by statements before this one. A successor takes the row over, unless it
-- is cancelled too ($3, with an integration that is being deleted).
--
-- A job that is being processed is not ended here but by its worker, which was requested to stop: the next attempt of its record or key must not
-- begin at the same time. With its integration it is ended at once, and its worker's result will find no row.
--
-- An expired job ($4 names the worker that ends it) gets what a claim of an expired job leaves as well: an attempt that took no time.
with locked as materialized (
    select j.id, j.app_id, j.integration_id, j.batch_id, j.worker_id, j.created_at, j.run_at, j.expires_at, j.started_at, j.timeout_ms,
        j.status, j.priority, j.attempt, j.max_attempts, j.may_have_arrived, j.is_full, j.folded, j.twins, j.correlation_ids, j.earlier_correlations, j.traceparent,
        j.job_type, j.record_type, j.record_id,
        j.deduplication_id, j.serialize_key, j.correlation_id, j.payload,
        case when $3 then null else j.successor end as successor,
        case when $3 then j.successor end as dropped, clock_timestamp() as now
    from unnest($1::uuid[]) with ordinality as g (id, n)
    cross join lateral (
        select j.id, j.app_id, j.integration_id, j.batch_id, j.worker_id, j.created_at, j.run_at, j.expires_at, j.started_at, j.timeout_ms,
            j.status, j.priority, j.attempt, j.max_attempts, j.may_have_arrived, j.is_full, j.folded, j.twins, j.correlation_ids, j.earlier_correlations, j.traceparent,
            j.job_type, j.record_type, j.record_id,
            j.deduplication_id, j.serialize_key, j.correlation_id, j.payload, j.successor
        from headgate.jobs j where j.id = g.id and ($3 or j.status <> 1)
        for update offset 0
    ) j
), removed as (
    delete from headgate.jobs j using locked l where j.id = l.id and l.successor is null
), succeeded as materialized (
    update headgate.jobs j
    set id = (l.successor ->> 'id')::uuid,
        status = 0, attempt = 0, assignment_id = null, worker_id = null, started_at = null, retry_at = null, lease_until = null,
        lost_leases = 0, may_have_arrived = l.may_have_arrived, error_kind = null, error_message = null, successor = null, previous_batch_id = null,
        job_type = l.successor ->> 'job_type',
        rank = (l.successor ->> 'rank')::smallint,
        previous_rank = (l.successor ->> 'rank')::smallint,
        priority = (l.successor ->> 'priority')::smallint,
        payload = nullif(l.successor -> 'payload', 'null'),
        correlation_id = l.successor ->> 'correlation_id',
        serialize_key = l.successor ->> 'serialize_key',
        batch_id = (l.successor ->> 'batch_id')::uuid,
        is_full = (l.successor ->> 'is_full')::boolean,
        follows_batch = (l.successor ->> 'follows_batch')::boolean, is_parked = false,
        folded = (l.successor ->> 'folded')::int, twins = headgate.twins_of(l.successor),
        correlation_ids = headgate.correlation_ids_of(l.successor), earlier_correlations = (l.successor ->> 'earlier_correlations')::int,
        traceparent = l.successor ->> 'traceparent', gathers_until = (l.successor ->> 'gathers_until')::timestamptz,
        created_at = (l.successor ->> 'created_at')::timestamptz,
        run_at = (l.successor ->> 'run_at')::timestamptz,
        expires_at = (l.successor ->> 'expires_at')::timestamptz,
        max_attempts = (l.successor ->> 'max_attempts')::smallint,
        timeout_ms = (l.successor ->> 'timeout_ms')::int
    from locked l
    where j.id = l.id and l.successor is not null
    returning j.id, j.integration_id, j.rank, j.created_at, j.run_at, j.serialize_key, j.run_at <= clock_timestamp() as is_due
), for_later as (
    insert into headgate.waiting (due_at, job_id, integration_id)
    select run_at, id, integration_id from succeeded where not is_due and serialize_key is null
    on conflict (job_id) do nothing
), now_ready as (
    insert into headgate.ready (integration_id, rank, created_at, job_id)
    select integration_id, rank, created_at, id from succeeded where is_due and serialize_key is null
    on conflict do nothing
), ended as materialized (
    select id, app_id, integration_id, batch_id, worker_id, created_at, run_at, expires_at, started_at, timeout_ms, status, priority, attempt,
        max_attempts, is_full, folded, twins, correlation_ids, earlier_correlations, traceparent,
        job_type, record_type, record_id, deduplication_id, serialize_key, correlation_id, payload, now
    from locked
    union all
    select (l.dropped ->> 'id')::uuid, l.app_id, l.integration_id, (l.dropped ->> 'batch_id')::uuid, null,
        (l.dropped ->> 'created_at')::timestamptz, (l.dropped ->> 'run_at')::timestamptz, (l.dropped ->> 'expires_at')::timestamptz,
        null, (l.dropped ->> 'timeout_ms')::int, 0, (l.dropped ->> 'priority')::smallint, 0, (l.dropped ->> 'max_attempts')::smallint,
        (l.dropped ->> 'is_full')::boolean, (l.dropped ->> 'folded')::int, headgate.twins_of(l.dropped), headgate.correlation_ids_of(l.dropped),
        (l.dropped ->> 'earlier_correlations')::int, l.dropped ->> 'traceparent', l.dropped ->> 'job_type', l.record_type, l.record_id,
        l.deduplication_id, l.dropped ->> 'serialize_key', l.dropped ->> 'correlation_id', nullif(l.dropped -> 'payload', 'null'),
        l.now
    from locked l where l.dropped is not null
), finished as (
    insert into headgate.finished_jobs (
        id, app_id, integration_id, batch_id, worker_id, created_at, run_at, expires_at, started_at, duration_ms, timeout_ms, status,
        priority, attempt, max_attempts, is_full, folded, twins, correlation_ids, earlier_correlations, traceparent,
        job_type, record_type, record_id, deduplication_id, serialize_key, correlation_id,
        outcome, payload
    )
    select id, app_id, integration_id, batch_id, coalesce($4, worker_id), created_at, run_at, expires_at,
        case when $4::uuid is null then started_at else now end, case when $4::uuid is not null then 0 end, timeout_ms, 4,
        priority, case when $4::uuid is null then attempt else attempt + 1 end, max_attempts, is_full, folded, twins, correlation_ids, earlier_correlations, traceparent,
        job_type, record_type,
        record_id, deduplication_id, serialize_key, correlation_id, $2, payload
    from ended
), failing_no_more as (
    delete from headgate.failing_jobs f using locked l where f.job_id = l.id and l.attempt > 0
), counted as (
    insert into headgate.job_count_deltas (integration_id, status, attempt, n)
    select integration_id, status, attempt, -count(*) from ended group by integration_id, status, attempt
), present as materialized (
    select i.id from headgate.integrations i
    where i.id in (
        select l.integration_id from locked l
        where not $3 and l.successor is null and l.record_id is not null and l.may_have_arrived
    )
    order by i.id for key share
), uncertain as (
    -- The job's row, which recorded that something may have arrived, is gone. (With a successor the row stays; a deleted integration needs no
    -- record of it.)
    insert into headgate.uncertain_records as u (integration_id, record_type, record_id, attributes)
    select distinct l.integration_id, l.record_type, l.record_id, null::text[]
    from locked l join present p on p.id = l.integration_id
    where l.successor is null and l.record_id is not null and l.may_have_arrived
    order by l.integration_id, l.record_type, l.record_id
    on conflict (integration_id, record_type, record_id) do update set attributes = null
), flowed as (
    insert into headgate.throughput_deltas (integration_id, cancelled)
    select integration_id, count(*) from ended group by integration_id
), batched as (
    insert into headgate.batch_deltas (batch_id, cancelled)
    select batch_id, count(*) from ended where batch_id is not null group by batch_id
)
-- The key of a successor that took the row over: the successor may be its head now.
select e.id as "id!: JobId", e.integration_id as "integration_id!: IntegrationId", e.serialize_key,
    (select l.successor ->> 'serialize_key' from locked l where l.id = e.id) as successor_key
from ended e
