-- Recovers jobs of dead workers: the lease of their process in `workers` has run out, or its row is gone. The attempt is not counted.
--
-- $1 and $2 are the jobs and their workers, $3 what becomes of each (as `jobs.status`: 0 goes back, 4 cancelled, 5 dead letter) and $4 after how
-- many seconds it goes back. Jobs that still belong to that worker (tested under the row's lock) are recovered. Jobs that are locked elsewhere
-- are skipped: a producer that folds into one may keep its lock as long as it likes. The next sweep finds them.
with found as materialized (
    -- Not locked yet, because jobs are locked in order. `distinct`: a job that failed and was claimed again is listed in two claims of its worker until
    -- the first is deleted.
    select j.id, j.integration_id, j.deduplication_id, j.worker_id, g.action, g.wait_seconds
    from (
        select distinct u.id, u.worker_id, u.action, u.wait_seconds
        from unnest($1::uuid[], $2::uuid[], $3::smallint[], $4::int[]) as u (id, worker_id, action, wait_seconds)
    ) g
    cross join lateral (
        -- `offset 0`: one probe each, whatever the statistics say.
        select j.id, j.integration_id, j.deduplication_id, j.worker_id from headgate.jobs j
        where j.id = g.id and j.status = 1 and j.worker_id = g.worker_id offset 0
    ) j
    where not exists (select 1 from headgate.workers w where w.id = j.worker_id and w.lease_until > clock_timestamp())
), lost as materialized (
    select j.id, j.app_id, j.integration_id, j.batch_id, j.worker_id, j.created_at, j.run_at, j.expires_at, j.started_at, j.timeout_ms,
        j.rank, j.priority, j.attempt, j.max_attempts, j.lost_leases, j.is_full, j.folded, j.twins, j.correlation_ids, j.earlier_correlations, j.traceparent,
        j.job_type, j.record_type, j.record_id,
        j.deduplication_id, j.serialize_key, j.correlation_id, j.payload, j.successor, clock_timestamp() as now,
        -- As in `finish.sql`.
        j.follows_batch and j.successor is null
            and exists (select 1 from headgate.batches b where b.id = j.batch_id and b.is_paused) as is_to_be_parked,
        f.action, f.wait_seconds, clock_timestamp() + f.wait_seconds * interval '1 second' as due_at
    from (
        select id, worker_id, action, wait_seconds from found order by integration_id, deduplication_id collate "C" nulls last, id
    ) f
    cross join lateral (
        select j.id, j.app_id, j.integration_id, j.batch_id, j.worker_id, j.created_at, j.run_at, j.expires_at, j.started_at, j.timeout_ms,
            j.rank, j.priority, j.attempt, j.max_attempts, j.lost_leases, j.is_full, j.folded, j.twins, j.correlation_ids, j.earlier_correlations, j.traceparent,
            j.job_type, j.record_type, j.record_id,
            j.deduplication_id, j.serialize_key, j.correlation_id, j.payload, j.successor, j.follows_batch
        from headgate.jobs j where j.id = f.id and j.status = 1 and j.worker_id = f.worker_id
        for update skip locked offset 0
    ) j
), back as (
    update headgate.jobs j
    set status = case when l.attempt > 1 then 2 else 0 end,
        attempt = l.attempt - 1,
        retry_at = case when l.attempt > 1 then l.due_at end,
        assignment_id = null, worker_id = null, lease_until = null, is_parked = l.is_to_be_parked,
        lost_leases = l.lost_leases + 1, may_have_arrived = true,
        error_kind = 'worker_lost', error_message = 'The worker vanished.'
    from lost l where j.id = l.id and l.action = 0
), removed as (
    delete from headgate.jobs j using lost l where j.id = l.id and l.action <> 0 and l.successor is null
), succeeded as materialized (
    update headgate.jobs j
    set id = (l.successor ->> 'id')::uuid,
        status = 0, attempt = 0, assignment_id = null, worker_id = null, started_at = null, retry_at = null, lease_until = null,
        lost_leases = 0, may_have_arrived = true, error_kind = null, error_message = null, successor = null, previous_batch_id = null,
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
    from lost l
    where j.id = l.id and l.action <> 0 and l.successor is not null
    returning j.id, j.integration_id, j.rank, j.created_at, j.run_at, j.serialize_key, j.run_at <= clock_timestamp() as is_due
), for_later as (
    insert into headgate.waiting (due_at, job_id, integration_id)
    select due_at, id, integration_id from lost where action = 0 and wait_seconds > 0 and not is_to_be_parked
    union all
    select run_at, id, integration_id from succeeded where not is_due and serialize_key is null
    on conflict (job_id) do nothing
), now_ready as (
    insert into headgate.ready (integration_id, rank, created_at, job_id)
    select integration_id, rank, created_at, id from lost where action = 0 and wait_seconds = 0 and not is_to_be_parked
    union all
    select integration_id, rank, created_at, id from succeeded where is_due and serialize_key is null
    on conflict do nothing
), attempts as (
    insert into headgate.job_attempts (
        job_id, integration_id, worker_id, started_at, finished_at, attempt, outcome, error_kind, error_message, next_wait_ms, next_wait_reason
    )
    select id, integration_id, worker_id, started_at, now, attempt, 'lost', 'worker_lost', 'The worker vanished.',
        case when action = 0 then wait_seconds * 1000 end, case when action = 0 then 'the lease was lost' end
    from lost
), cancelled as (
    insert into headgate.finished_jobs (
        id, app_id, integration_id, batch_id, worker_id, created_at, run_at, expires_at, started_at, finished_at, timeout_ms, status, priority,
        attempt, max_attempts, is_full, folded, twins, correlation_ids, earlier_correlations, traceparent,
        job_type, record_type, record_id, deduplication_id, serialize_key, correlation_id, outcome,
        payload
    )
    select l.id, l.app_id, l.integration_id, l.batch_id, l.worker_id, l.created_at, l.run_at, l.expires_at, l.started_at, l.now,
        l.timeout_ms, 4, l.priority, l.attempt, l.max_attempts, l.is_full, l.folded, l.twins, l.correlation_ids, l.earlier_correlations, l.traceparent,
        l.job_type, l.record_type, l.record_id,
        l.deduplication_id, l.serialize_key, l.correlation_id, 'cancelled', l.payload
    from lost l where l.action = 4
), dead as (
    insert into headgate.dead_letter_jobs (
        id, job_id, app_id, integration_id, batch_id, worker_id, created_at, run_at, expires_at, started_at, failed_at, timeout_ms, rank,
        priority, attempt, max_attempts, may_have_arrived, is_full, folded, twins, correlation_ids, earlier_correlations, traceparent,
        job_type, record_type, record_id, deduplication_id, serialize_key,
        correlation_id, error_kind, error_message, fingerprint, payload, attempts
    )
    select l.id, l.id, l.app_id, l.integration_id, l.batch_id, l.worker_id, l.created_at, l.run_at, l.expires_at, l.started_at, l.now,
        l.timeout_ms, l.rank, l.priority, l.attempt, l.max_attempts, true, l.is_full, l.folded, l.twins, l.correlation_ids, l.earlier_correlations, l.traceparent,
        l.job_type, l.record_type, l.record_id,
        l.deduplication_id, l.serialize_key, l.correlation_id, 'worker_lost',
        format('The worker vanished %s times in a row while it ran this job.', l.lost_leases + 1),
        -- The fingerprint, in the format of `rules::fingerprint`.
        $5::text || '-' || right(l.integration_id::text, 12), l.payload,
        headgate.attempts_of(l.id) || jsonb_build_array(jsonb_build_object(
            'attempt', l.attempt, 'worker_id', l.worker_id, 'started_at', l.started_at, 'finished_at', l.now, 'outcome', 'lost',
            'error_kind', 'worker_lost', 'error_message', 'The worker vanished.'
        ))
    from lost l where l.action = 5
), failing_no_more as (
    delete from headgate.failing_jobs f using lost l where f.job_id = l.id and l.action <> 0
), erred as (
    insert into headgate.failure_deltas (fingerprint, integration_id, at, failed, error_kind, error_message)
    select $5::text || '-' || right(l.integration_id::text, 12), l.integration_id, max(l.now), count(*), 'worker_lost', 'The worker vanished.'
    from lost l where l.action = 5
    group by l.integration_id
), present as materialized (
    select i.id from headgate.integrations i
    where i.id in (select l.integration_id from lost l where l.action <> 0 and l.successor is null and l.record_id is not null)
    order by i.id for key share
), uncertain as (
    -- A later job of the record must know that something may have arrived. (With a successor the row stays.)
    insert into headgate.uncertain_records as u (integration_id, record_type, record_id, attributes)
    select distinct l.integration_id, l.record_type, l.record_id, null::text[]
    from lost l join present p on p.id = l.integration_id
    where l.action <> 0 and l.successor is null and l.record_id is not null
    order by l.integration_id, l.record_type, l.record_id
    on conflict (integration_id, record_type, record_id) do update set attributes = null
), counted as (
    insert into headgate.job_count_deltas (integration_id, status, attempt, n)
    select d.integration_id, d.status, d.attempt, sum(d.n)
    from lost l
    cross join lateral (
        values
            (l.integration_id, 1::smallint, l.attempt, -1),
            (
                l.integration_id,
                (case when l.action = 5 then 5 when l.attempt > 1 then 2 else 0 end)::smallint,
                (case when l.action = 5 then l.attempt else l.attempt - 1 end)::smallint,
                case when l.action = 4 then 0 else 1 end
            )
    ) d (integration_id, status, attempt, n)
    where d.n <> 0
    group by d.integration_id, d.status, d.attempt
), flowed as (
    insert into headgate.throughput_deltas (integration_id, dead, cancelled, lost)
    select integration_id, count(*) filter (where action = 5), count(*) filter (where action = 4), count(*) filter (where action = 0)
    from lost group by integration_id
), batched as (
    insert into headgate.batch_deltas (batch_id, failed, cancelled)
    select batch_id, count(*) filter (where action = 5), count(*) filter (where action = 4)
    from lost where action <> 0 and batch_id is not null group by batch_id
)
select l.id as "id!: JobId", l.integration_id as "integration_id!: IntegrationId", l.serialize_key, l.action as "action!",
    case when l.action <> 0 then l.successor ->> 'serialize_key' end as successor_key
from lost l
