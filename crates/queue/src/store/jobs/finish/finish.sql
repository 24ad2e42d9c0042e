-- Ends or releases a batch of leased jobs: job, attempt, finished row, dead letter, counters and marks in one statement.
--
-- The rows come sorted by (integration, deduplication id, id), the order in which jobs are locked everywhere. They are locked by
-- primary key first, one probe each (`offset 0` keeps the planner from reversing the loop: with a join it once scanned all leases for every
-- batch, 6 times slower), the lease is tested outside, and everything is then written by id.
--
-- action: 3 completed, 4 cancelled, 2 to be retried, 5 dead letter, 0 released (the attempt is not counted)
--
-- A job that was cancelled meanwhile (`cancel_requested_of` names this lease) has no further attempt: if it would go on, or become a dead letter,
-- it ends as cancelled. If it completed, it is completed.
with given as materialized (
    select g.n, g.id, g.assignment_id, g.action, g.outcome, g.attempt_outcome, g.wait_us, g.wait_reason, g.until, g.response_status,
        g.response_excerpt, g.duration_ms, g.result, g.error_kind, g.attempt_error_kind, g.error_message, g.fingerprint, g.dead_letter_id,
        g.sent_body, g.is_uncertain, g.exchange
    from unnest(
        $1::uuid[], $2::uuid[], $3::smallint[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::timestamptz[], $9::smallint[],
        $10::text[], $11::int[], $12::jsonb[], $13::text[], $14::text[], $15::text[], $16::text[], $17::uuid[], $18::jsonb[], $19::boolean[],
        $20::jsonb[]
    ) with ordinality as g (
        id, assignment_id, action, outcome, attempt_outcome, wait_us, wait_reason, until, response_status, response_excerpt, duration_ms,
        result, error_kind, attempt_error_kind, error_message, fingerprint, dead_letter_id, sent_body, is_uncertain, exchange, n
    )
), locked as materialized (
    -- A successor that a fold added before we got the lock is seen: a locking read returns the newest version of the row.
    select g.n, g.action as given_action, case when j.is_cancelled and g.action <> 3 then 4::smallint else g.action end as action,
        case when j.is_cancelled and g.action <> 3 then 'cancelled' else g.outcome end as outcome,
        g.attempt_outcome, g.wait_reason, g.response_status, g.response_excerpt, g.duration_ms, g.result,
        g.error_kind, g.attempt_error_kind, g.error_message, g.fingerprint, g.dead_letter_id, g.is_uncertain, g.sent_body, g.exchange, g.wait_us,
        clock_timestamp() as now,
        case g.action
            when 2 then clock_timestamp() + g.wait_us * interval '1 microsecond'
            when 0 then greatest(g.until, clock_timestamp())
        end as due_at,
        (g.action = 2 and g.wait_us = 0) or (g.action = 0 and g.until <= clock_timestamp()) as is_due,
        j.assignment_id = g.assignment_id as is_ours,
        j.id, j.app_id, j.integration_id, j.batch_id, j.worker_id, j.created_at, j.run_at, j.expires_at, j.started_at, j.timeout_ms,
        j.rank, j.priority, j.attempt, j.max_attempts, j.may_have_arrived, j.is_full, j.follows_batch, j.folded, j.twins, j.correlation_ids, j.earlier_correlations, j.traceparent,
        j.job_type, j.record_type, j.record_id,
        j.deduplication_id, j.serialize_key, j.correlation_id, j.payload, j.successor
    from (
        select g.n, g.id, g.assignment_id, g.action, g.outcome, g.attempt_outcome, g.wait_reason, g.response_status, g.response_excerpt, g.duration_ms, g.result,
        g.error_kind, g.attempt_error_kind, g.error_message, g.fingerprint, g.dead_letter_id, g.is_uncertain, g.sent_body, g.exchange, g.wait_us, g.until
        from given g order by g.n
    ) g
    cross join lateral (
        select j.assignment_id, j.id, j.app_id, j.integration_id, j.batch_id, j.worker_id, j.created_at, j.run_at, j.expires_at, j.started_at, j.timeout_ms,
        j.rank, j.priority, j.attempt, j.max_attempts, j.may_have_arrived, j.is_full, j.follows_batch, j.folded, j.twins, j.correlation_ids, j.earlier_correlations, j.traceparent,
        j.job_type, j.record_type, j.record_id,
        j.deduplication_id, j.serialize_key, j.correlation_id, j.payload, j.successor,
        coalesce(j.cancel_requested_of = j.assignment_id, false) as is_cancelled
        from headgate.jobs j where j.id = g.id
        for update offset 0
    ) j
), applied as materialized (
    select l.n, l.given_action, l.action, l.outcome, l.attempt_outcome, l.wait_reason, l.response_status, l.response_excerpt, l.duration_ms, l.result,
        l.error_kind, l.attempt_error_kind, l.error_message, l.fingerprint, l.dead_letter_id, l.is_uncertain, l.sent_body, l.exchange, l.wait_us, l.now, l.due_at, l.is_due,
        l.id, l.app_id, l.integration_id, l.batch_id, l.worker_id, l.created_at, l.run_at, l.expires_at, l.started_at, l.timeout_ms,
        l.rank, l.priority, l.attempt, l.max_attempts, l.may_have_arrived, l.is_full, l.folded, l.twins, l.correlation_ids, l.earlier_correlations, l.traceparent,
        l.job_type, l.record_type, l.record_id,
        l.deduplication_id, l.serialize_key, l.correlation_id, l.payload, l.successor,
        -- If its batch was paused meanwhile, it is parked at once. A pause that this statement does not see yet parks the job a moment later, and
        -- one that is over already resumes it (`park.rs`).
        l.action in (0, 2) and l.follows_batch and l.successor is null
            and exists (select 1 from headgate.batches b where b.id = l.batch_id and b.is_paused) as is_to_be_parked
    from locked l
    where l.is_ours
), removed as (
    delete from headgate.jobs j using applied a
    where j.id = a.id and a.action in (3, 4, 5) and a.successor is null
), succeeded as materialized (
    -- The successor takes the row over: a new job with its own id and all its attempts.
    update headgate.jobs j
    set id = (a.successor ->> 'id')::uuid,
        status = 0, attempt = 0, assignment_id = null, worker_id = null, started_at = null, retry_at = null, lease_until = null,
        -- After a recorded completion nothing is uncertain any more; after a dead letter it still is.
        lost_leases = 0, may_have_arrived = a.action <> 3 and (a.may_have_arrived or a.is_uncertain),
        error_kind = null, error_message = null, successor = null, previous_batch_id = null,
        job_type = a.successor ->> 'job_type',
        rank = (a.successor ->> 'rank')::smallint,
        previous_rank = (a.successor ->> 'rank')::smallint,
        priority = (a.successor ->> 'priority')::smallint,
        payload = nullif(a.successor -> 'payload', 'null'),
        correlation_id = a.successor ->> 'correlation_id',
        serialize_key = a.successor ->> 'serialize_key',
        batch_id = (a.successor ->> 'batch_id')::uuid,
        is_full = (a.successor ->> 'is_full')::boolean,
        follows_batch = (a.successor ->> 'follows_batch')::boolean, is_parked = false,
        folded = (a.successor ->> 'folded')::int, twins = headgate.twins_of(a.successor),
        correlation_ids = headgate.correlation_ids_of(a.successor), earlier_correlations = (a.successor ->> 'earlier_correlations')::int,
        traceparent = a.successor ->> 'traceparent', gathers_until = (a.successor ->> 'gathers_until')::timestamptz,
        created_at = (a.successor ->> 'created_at')::timestamptz,
        run_at = (a.successor ->> 'run_at')::timestamptz,
        expires_at = (a.successor ->> 'expires_at')::timestamptz,
        max_attempts = (a.successor ->> 'max_attempts')::smallint,
        timeout_ms = (a.successor ->> 'timeout_ms')::int
    from applied a
    where j.id = a.id and a.action in (3, 4, 5) and a.successor is not null
    returning j.id, j.integration_id, j.rank, j.created_at, j.run_at, j.serialize_key, j.run_at <= clock_timestamp() as is_due
), put_back as (
    update headgate.jobs j
    set status = case when a.action = 2 or a.attempt > 1 then 2 else 0 end,
        attempt = case when a.action = 2 then a.attempt else a.attempt - 1 end,
        retry_at = case when a.action = 2 or a.attempt > 1 then a.due_at end,
        assignment_id = null, worker_id = null, lease_until = null, is_parked = a.is_to_be_parked,
        lost_leases = case when a.action = 2 then 0 else j.lost_leases end,
        may_have_arrived = j.may_have_arrived or a.is_uncertain,
        error_kind = case when a.action = 2 then a.error_kind else j.error_kind end,
        error_message = case when a.action = 2 then a.error_message else j.error_message end
    from applied a
    where j.id = a.id and a.action in (0, 2)
), for_later as (
    insert into headgate.waiting (due_at, job_id, integration_id)
    select a.due_at, a.id, a.integration_id from applied a where a.action in (0, 2) and not a.is_due and not a.is_to_be_parked
    union all
    select s.run_at, s.id, s.integration_id from succeeded s where not s.is_due and s.serialize_key is null
    on conflict (job_id) do update set due_at = excluded.due_at
), now_ready as (
    insert into headgate.ready (integration_id, rank, created_at, job_id)
    select a.integration_id, a.rank, a.created_at, a.id from applied a where a.action in (0, 2) and a.is_due and not a.is_to_be_parked
    union all
    select s.integration_id, s.rank, s.created_at, s.id from succeeded s where s.is_due and s.serialize_key is null
    on conflict do nothing
), finished as (
    insert into headgate.finished_jobs (
        id, app_id, integration_id, batch_id, worker_id, created_at, run_at, expires_at, started_at, finished_at, duration_ms, timeout_ms,
        status, priority, attempt, max_attempts, response_status, is_full, folded, twins, correlation_ids, earlier_correlations, traceparent,
        job_type, record_type, record_id, deduplication_id,
        serialize_key, correlation_id, outcome, response_excerpt, payload, result
    )
    select a.id, a.app_id, a.integration_id, a.batch_id, a.worker_id, a.created_at, a.run_at, a.expires_at, a.started_at, a.now,
        a.duration_ms, a.timeout_ms, a.action, a.priority, a.attempt, a.max_attempts, a.response_status, a.is_full, a.folded, a.twins, a.correlation_ids, a.earlier_correlations, a.traceparent,
        a.job_type, a.record_type, a.record_id, a.deduplication_id, a.serialize_key, a.correlation_id, a.outcome, a.response_excerpt,
        a.payload, a.result
    from applied a where a.action in (3, 4)
), attempts as (
    insert into headgate.job_attempts (
        job_id, integration_id, worker_id, started_at, finished_at, duration_ms, attempt, response_status, outcome, error_kind,
        error_message, response_excerpt, next_wait_ms, next_wait_reason, exchange
    )
    select a.id, a.integration_id, a.worker_id, a.started_at, a.now, a.duration_ms, a.attempt, a.response_status, a.attempt_outcome,
        a.attempt_error_kind, a.error_message, a.response_excerpt, case when a.action = 2 then a.wait_us / 1000 end,
        case when a.action = 2 then a.wait_reason end, a.exchange
    -- Also the failed attempt of a job that was cancelled meanwhile.
    from applied a where a.given_action in (2, 5)
), dead as (
    insert into headgate.dead_letter_jobs (
        id, job_id, app_id, integration_id, batch_id, worker_id, created_at, run_at, expires_at, started_at, failed_at, timeout_ms, rank,
        priority, attempt, max_attempts, may_have_arrived, is_full, folded, twins, correlation_ids, earlier_correlations, traceparent,
        job_type, record_type, record_id, deduplication_id, serialize_key,
        correlation_id, error_kind, error_message, response_status, fingerprint, payload, sent_body, attempts
    )
    select a.dead_letter_id, a.id, a.app_id, a.integration_id, a.batch_id, a.worker_id, a.created_at, a.run_at, a.expires_at, a.started_at,
        a.now, a.timeout_ms, a.rank, a.priority, a.attempt, a.max_attempts, a.may_have_arrived or a.is_uncertain, a.is_full, a.folded, a.twins, a.correlation_ids, a.earlier_correlations, a.traceparent,
        a.job_type, a.record_type,
        a.record_id, a.deduplication_id, a.serialize_key, a.correlation_id, a.error_kind, a.error_message, a.response_status,
        a.fingerprint, a.payload, a.sent_body,
        -- All attempts, in the format of model::attempt::Attempt. The last one is appended, because this snapshot does not see its row yet.
        headgate.attempts_of(a.id) || jsonb_build_array(jsonb_build_object(
            'attempt', a.attempt, 'worker_id', a.worker_id, 'started_at', a.started_at, 'finished_at', a.now, 'outcome', a.attempt_outcome,
            'error_kind', a.attempt_error_kind, 'error_message', a.error_message, 'response_status', a.response_status,
            'response_excerpt', a.response_excerpt, 'duration_ms', a.duration_ms, 'exchange', a.exchange
        ))
    from applied a where a.action = 5
), failing as (
    insert into headgate.failing_jobs (job_id, integration_id, fingerprint, due_at)
    select a.id, a.integration_id, a.fingerprint, a.due_at from applied a where a.action = 2
    on conflict (job_id) do update set fingerprint = excluded.fingerprint, due_at = excluded.due_at
), failing_no_more as (
    delete from headgate.failing_jobs f using applied a where f.job_id = a.id and a.action in (3, 4, 5) and a.attempt > 1
), erred as (
    insert into headgate.failure_deltas (fingerprint, integration_id, at, failed, error_kind, error_message, response_status)
    select a.fingerprint, a.integration_id, max(a.now), count(*), max(a.attempt_error_kind), max(a.error_message), max(a.response_status)
    from applied a where a.given_action in (2, 5)
    group by a.fingerprint, a.integration_id
), present as materialized (
    select i.id from headgate.integrations i
    where i.id in (
        select a.integration_id from applied a
        where a.action = 4 and a.successor is null and a.record_id is not null and (a.may_have_arrived or a.is_uncertain)
    )
    order by i.id for key share
), uncertain as (
    -- The job's row, which recorded that something may have arrived, is gone, and a later job of the record must know it. (With a successor the row
    -- stays.)
    insert into headgate.uncertain_records as u (integration_id, record_type, record_id, attributes)
    select distinct a.integration_id, a.record_type, a.record_id, null::text[]
    from applied a join present p on p.id = a.integration_id
    where a.action = 4 and a.successor is null and a.record_id is not null and (a.may_have_arrived or a.is_uncertain)
    order by a.integration_id, a.record_type, a.record_id
    on conflict (integration_id, record_type, record_id) do update set attributes = null
), counted as (
    insert into headgate.job_count_deltas (integration_id, status, attempt, n)
    select d.integration_id, d.status, d.attempt, sum(d.n)
    from applied a
    cross join lateral (
        values
            (a.integration_id, 1::smallint, a.attempt, -1),
            (
                a.integration_id,
                (case when a.action = 5 then 5 when a.action = 2 or a.attempt > 1 then 2 else 0 end)::smallint,
                (case when a.action = 0 then a.attempt - 1 else a.attempt end)::smallint,
                case when a.action in (0, 2, 5) then 1 else 0 end
            )
    ) d (integration_id, status, attempt, n)
    where d.n <> 0
    group by d.integration_id, d.status, d.attempt
    having sum(d.n) <> 0
), flowed as (
    insert into headgate.throughput_deltas (
        integration_id, at, completed, unchanged, retried, dead, cancelled, limited, duration_ms
    )
    select a.integration_id, max(a.now), count(*) filter (where a.action = 3 and a.outcome <> 'unchanged'),
        count(*) filter (where a.action = 3 and a.outcome = 'unchanged'), count(*) filter (where a.action = 2),
        count(*) filter (where a.action = 5), count(*) filter (where a.action = 4), count(*) filter (where a.action = 0),
        coalesce(sum(a.duration_ms) filter (where a.action = 3), 0)
    from applied a
    group by a.integration_id
), batched as (
    insert into headgate.batch_deltas (batch_id, succeeded, failed, cancelled)
    select a.batch_id, count(*) filter (where a.action = 3), count(*) filter (where a.action = 5), count(*) filter (where a.action = 4)
    from applied a
    where a.batch_id is not null and a.action in (3, 4, 5)
    group by a.batch_id
), marked as (
    insert into headgate.integration_marks (integration_id, error_job_id, error_at, error_kind, error_message, error_status)
    select l.integration_id, l.id, l.now, l.error_kind, l.error_message, l.response_status
    from (
        select distinct on (a.integration_id) a.integration_id, a.id, a.now, a.error_kind, a.error_message, a.response_status
        from applied a
        where a.action in (2, 5)
        order by a.integration_id, a.n desc
    ) l
    cross join lateral (
        -- Waits for a deletion that this statement does not see yet: marks must not refer to an integration that is gone.
        select 1 from headgate.integrations i where i.id = l.integration_id
        for key share offset 0
    ) i
    on conflict (integration_id) do update set error_job_id = excluded.error_job_id, error_at = excluded.error_at,
        error_kind = excluded.error_kind, error_message = excluded.error_message, error_status = excluded.error_status
)
select l.n as "n!", coalesce(l.is_ours, false) as "is_applied!", coalesce(l.is_ours and l.action <> l.given_action, false) as "is_cancelled!",
    case when l.action in (3, 4, 5) then (l.successor ->> 'id')::uuid end as "successor_id: JobId",
    case when l.action in (3, 4, 5) then l.successor ->> 'serialize_key' end as successor_key
from locked l
order by l.n
