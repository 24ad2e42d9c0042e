-- Puts dead letters and cancelled jobs back into the queue, with all their attempts. When a live job of the same deduplication id exists, that one
-- takes the work over: it is locked, so that it cannot end meanwhile, and the job given here is stored as cancelled with an outcome that says so. A
-- job that is being processed has read its data and can take nothing over: the job given here becomes its successor.
--
-- A job that is taken over is folded like a new call, except that the payload goes by age: that of the newer job stays (ids are UUIDv7), whichever is
-- live. Of several jobs of one deduplication id the newest is restored and takes the others over by the same rules, so that the result is the
-- same whether they are restored together or one after the other.
--
-- The rows come sorted by (integration, deduplication id, id), the order in which jobs are locked everywhere.
with given as materialized (
    select g.n, g.id, g.rank, g.is_dead, g.ended_at
    from unnest($1::uuid[], $2::smallint[], $3::boolean[], $4::timestamptz[]) with ordinality as g (id, rank, is_dead, ended_at, n)
), dead as materialized (
    delete from headgate.dead_letter_jobs d using given g
    where g.is_dead and d.job_id = g.id and ($5::uuid is null or d.app_id = $5)
        and exists (select 1 from headgate.lanes l where l.integration_id = d.integration_id)
    returning g.n, g.rank, d.job_id, d.app_id, d.integration_id, d.batch_id, d.worker_id, d.created_at, d.expires_at, d.started_at,
        d.timeout_ms, d.priority, d.attempt, d.max_attempts, d.may_have_arrived, d.is_full, d.folded, d.twins, d.correlation_ids, d.earlier_correlations, d.traceparent,
        d.job_type, d.record_type,
        d.record_id, d.deduplication_id, d.serialize_key, d.correlation_id, d.payload
), cancelled as materialized (
    -- `finished_at` selects the day's partition.
    delete from headgate.finished_jobs d using given g
    where not g.is_dead and d.id = g.id and d.finished_at = g.ended_at and d.status = 4 and ($5::uuid is null or d.app_id = $5)
        and exists (select 1 from headgate.lanes l where l.integration_id = d.integration_id)
    returning g.n, g.rank, d.id as job_id, d.app_id, d.integration_id, d.batch_id, d.worker_id, d.created_at, d.expires_at, d.started_at,
        d.timeout_ms, d.priority, d.attempt, d.max_attempts, d.is_full, d.folded, d.twins, d.correlation_ids, d.earlier_correlations, d.traceparent,
        d.job_type, d.record_type, d.record_id,
        d.deduplication_id, d.serialize_key, d.correlation_id, d.payload
), gone as materialized (
    select n, rank, true as was_dead, job_id, app_id, integration_id, batch_id, worker_id, created_at, expires_at, started_at, timeout_ms,
        priority, attempt, max_attempts, may_have_arrived, is_full, folded, twins, correlation_ids, earlier_correlations, traceparent,
        job_type, record_type, record_id, deduplication_id,
        serialize_key, correlation_id, payload, coalesce('d' || deduplication_id, 'i' || job_id) as fold_key
    from dead
    union all
    -- What may have arrived of a cancelled job is recorded in `uncertain_records`.
    select n, rank, false, job_id, app_id, integration_id, batch_id, worker_id, created_at, expires_at, started_at, timeout_ms,
        priority, attempt, max_attempts, false, is_full, folded, twins, correlation_ids, earlier_correlations, traceparent,
        job_type, record_type, record_id, deduplication_id,
        serialize_key, correlation_id, payload, coalesce('d' || deduplication_id, 'i' || job_id)
    from cancelled
), newest as materialized (
    select distinct on (g.integration_id, g.fold_key) g.n, g.job_id, g.app_id, g.integration_id, g.batch_id, g.created_at, g.folded, g.twins, g.correlation_ids, g.earlier_correlations, g.traceparent,
        g.record_type, g.record_id, g.deduplication_id, g.serialize_key, g.correlation_id, g.payload, t.rank, t.job_type, t.priority,
        t.max_attempts, t.timeout_ms, t.expires_at, t.is_full, t.may_have_arrived
    from gone g
    join (
        select integration_id, fold_key, min(rank) as rank, max(max_attempts) as max_attempts, bool_or(is_full) as is_full,
            bool_or(may_have_arrived) as may_have_arrived,
            (array_agg(job_type order by rank, job_id desc))[1] as job_type,
            (array_agg(priority order by rank, job_id desc))[1] as priority,
            (array_agg(timeout_ms order by job_id desc) filter (where timeout_ms is not null))[1] as timeout_ms,
            -- An expiry that has passed is dropped, because somebody wants the job to run all the same.
            case when bool_and(coalesce(expires_at > clock_timestamp(), false)) then max(expires_at) end as expires_at
        from gone group by integration_id, fold_key
    ) t on t.integration_id = g.integration_id and t.fold_key = g.fold_key
    order by g.integration_id, g.fold_key, g.job_id desc
), stored as materialized (
    insert into headgate.jobs as j (
        id, app_id, integration_id, batch_id, created_at, timeout_ms, rank, previous_rank, priority, max_attempts, is_full, folded, twins, correlation_ids, earlier_correlations, traceparent,
        job_type, record_type, record_id, deduplication_id, serialize_key, correlation_id, payload, expires_at, may_have_arrived
    )
    select g.job_id, g.app_id, g.integration_id, g.batch_id, g.created_at, g.timeout_ms, g.rank, g.rank, g.priority, g.max_attempts,
        g.is_full, g.folded, g.twins, g.correlation_ids, g.earlier_correlations, g.traceparent,
        g.job_type, g.record_type, g.record_id, g.deduplication_id, g.serialize_key, g.correlation_id,
        g.payload, g.expires_at, g.may_have_arrived
    from newest g
    order by g.n
    -- As in `enqueue.sql`, except for the payload, and for batch and time, which stay those of the live job.
    on conflict (integration_id, deduplication_id) where deduplication_id is not null do update
    set
        may_have_arrived = j.may_have_arrived or excluded.may_have_arrived,
        previous_rank = j.rank,
        rank = case when j.status = 1 or j.successor is not null then j.rank else least(j.rank, excluded.rank) end,
        job_type = case
            when j.status = 1 or j.successor is not null then j.job_type
            when excluded.rank < j.rank or (excluded.rank = j.rank and excluded.id > j.id) then excluded.job_type
            else j.job_type
        end,
        priority = case
            when j.status = 1 or j.successor is not null then j.priority
            when excluded.rank < j.rank or (excluded.rank = j.rank and excluded.id > j.id) then excluded.priority
            else j.priority
        end,
        payload = case
            when j.status = 1 or j.successor is not null or excluded.id < j.id then j.payload else excluded.payload
        end,
        is_full = case when j.status = 1 or j.successor is not null then j.is_full else j.is_full or excluded.is_full end,
        follows_batch = case
            when j.status = 1 or j.successor is not null then j.follows_batch else j.follows_batch and excluded.follows_batch
        end,
        expires_at = case
            when j.status = 1 or j.successor is not null then j.expires_at
            when excluded.expires_at is not null and j.expires_at is not null then greatest(j.expires_at, excluded.expires_at)
        end,
        max_attempts = case
            when j.status = 1 or j.successor is not null then j.max_attempts else greatest(j.max_attempts, excluded.max_attempts)
        end,
        timeout_ms = case
            when j.status = 1 or j.successor is not null then j.timeout_ms
            when excluded.id > j.id then coalesce(excluded.timeout_ms, j.timeout_ms)
            else coalesce(j.timeout_ms, excluded.timeout_ms)
        end,
        successor = case
            when j.successor is not null then j.successor || jsonb_build_object(
                'rank', least((j.successor ->> 'rank')::smallint, excluded.rank),
                'job_type', case
                    when excluded.rank < (j.successor ->> 'rank')::smallint
                        or (excluded.rank = (j.successor ->> 'rank')::smallint and excluded.id > (j.successor ->> 'id')::uuid)
                        then excluded.job_type
                    else j.successor ->> 'job_type'
                end,
                'priority', case
                    when excluded.rank < (j.successor ->> 'rank')::smallint
                        or (excluded.rank = (j.successor ->> 'rank')::smallint and excluded.id > (j.successor ->> 'id')::uuid)
                        then excluded.priority
                    else (j.successor ->> 'priority')::smallint
                end,
                'payload', case
                    when excluded.id > (j.successor ->> 'id')::uuid then excluded.payload else nullif(j.successor -> 'payload', 'null')
                end,
                'is_full', (j.successor ->> 'is_full')::boolean or excluded.is_full,
                'follows_batch', (j.successor ->> 'follows_batch')::boolean and excluded.follows_batch,
                'expires_at', case
                    when excluded.expires_at is not null and j.successor ->> 'expires_at' is not null
                        then greatest((j.successor ->> 'expires_at')::timestamptz, excluded.expires_at)
                end,
                'max_attempts', greatest((j.successor ->> 'max_attempts')::smallint, excluded.max_attempts),
                'timeout_ms', case
                    when excluded.id > (j.successor ->> 'id')::uuid
                        then coalesce(excluded.timeout_ms, (j.successor ->> 'timeout_ms')::int)
                    else coalesce((j.successor ->> 'timeout_ms')::int, excluded.timeout_ms)
                end
            )
            -- An older payload must not be sent after the newer one that is being sent. (Jobs of a record send its state at that time, and a job that is
            -- being cancelled takes nothing over.)
            when j.status = 1 and (
                excluded.id > j.id or excluded.record_id is not null or j.cancel_requested_of = j.assignment_id
            ) then jsonb_build_object(
                'id', excluded.id, 'job_type', excluded.job_type, 'rank', excluded.rank, 'priority', excluded.priority,
                'payload', excluded.payload, 'correlation_id', excluded.correlation_id, 'serialize_key', excluded.serialize_key,
                'batch_id', excluded.batch_id, 'previous_batch_id', null, 'is_full', excluded.is_full, 'follows_batch', excluded.follows_batch,
                'folded', excluded.folded, 'twins', excluded.twins, 'correlation_ids', excluded.correlation_ids,
                'earlier_correlations', excluded.earlier_correlations, 'traceparent', excluded.traceparent,
                'created_at', excluded.created_at, 'run_at', excluded.run_at, 'expires_at', excluded.expires_at,
                'max_attempts', excluded.max_attempts, 'timeout_ms', excluded.timeout_ms
            )
        end
    returning j.id, coalesce((j.successor ->> 'id')::uuid, j.id) as successor_or_row_id, j.integration_id, j.rank,
        j.successor is null and j.status <> 1 and j.rank < j.previous_rank as is_more_urgent,
        coalesce('d' || j.deduplication_id, 'i' || j.id) as fold_key
), pairs as materialized (
    select g.was_dead, g.job_id, g.app_id, g.integration_id, g.batch_id, g.worker_id, g.created_at, g.expires_at, g.started_at, g.timeout_ms,
        g.priority, g.attempt, g.max_attempts, g.is_full, g.folded, g.twins, g.correlation_ids, g.earlier_correlations, g.traceparent,
        g.job_type, g.record_type, g.record_id, g.deduplication_id,
        g.serialize_key, g.correlation_id, g.payload, s.successor_or_row_id, s.rank as stored_rank, s.is_more_urgent,
        s.successor_or_row_id = g.job_id as is_restored, s.id = g.job_id as is_row
    from gone g
    join stored s on s.integration_id = g.integration_id and s.fold_key = g.fold_key
), now_ready as (
    insert into headgate.ready (integration_id, rank, created_at, job_id)
    select p.integration_id, p.stored_rank, p.created_at, p.job_id from pairs p
    where p.is_row and p.serialize_key is null
    on conflict do nothing
), coalesced as (
    insert into headgate.finished_jobs (
        id, app_id, integration_id, batch_id, worker_id, created_at, run_at, expires_at, started_at, timeout_ms, status, priority, attempt,
        max_attempts, is_full, folded, twins, correlation_ids, earlier_correlations, traceparent,
        job_type, record_type, record_id, deduplication_id, serialize_key, correlation_id, outcome, payload
    )
    select p.job_id, p.app_id, p.integration_id, p.batch_id, p.worker_id, p.created_at, p.created_at, p.expires_at, p.started_at,
        p.timeout_ms, 4, p.priority, p.attempt, p.max_attempts, p.is_full, p.folded, p.twins, p.correlation_ids, p.earlier_correlations, p.traceparent,
        p.job_type, p.record_type, p.record_id,
        p.deduplication_id, p.serialize_key, p.correlation_id, 'coalesced into ' || p.successor_or_row_id, p.payload
    from pairs p where not p.is_restored
), counted as (
    insert into headgate.job_count_deltas (integration_id, status, attempt, n)
    select integration_id, 5, attempt, -count(*) from pairs where was_dead group by integration_id, attempt
    union all
    select integration_id, 0, 0, count(*) from pairs where is_restored group by integration_id
), batched as (
    insert into headgate.batch_deltas (batch_id, failed, cancelled)
    select batch_id, -count(*) filter (where was_dead),
        count(*) filter (where was_dead and not is_restored) - count(*) filter (where not was_dead and is_restored)
    from pairs where batch_id is not null and (was_dead or is_restored)
    group by batch_id
)
select p.successor_or_row_id as "id!: JobId", p.job_id as "job_id!: JobId", p.is_restored as "is_restored!",
    p.is_more_urgent as "is_more_urgent!"
from pairs p
