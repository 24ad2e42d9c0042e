-- The statements that must see a fresh snapshot after a lock (the claim), or decide several rows together (rate slots): functions,
-- so that lock and work are one round trip. First release: no older worker exists.

-- How many jobs of a lane are being processed, unfolded deltas included. Read under the claim's lock it is never too low.
create view headgate.processing_counts as
select integration_id, sum(n)::bigint as n
from (
    select integration_id, n from headgate.job_counts where status = 1
    union all
    select integration_id, n from headgate.job_count_deltas where status = 1
) counted
group by integration_id;

-- Claims up to `wanted` jobs for one worker: fair over lanes, urgent first, limits and caps respected, a lease given. `busy_lanes` and
-- `busy_counts` say what the worker's process holds already: while several lanes have work, none gets more than `lane_cap` of it.
--
-- Claimers of all processes take turns on one advisory lock (class 4711, object 1): running jobs only become more inside it, so a cap read
-- here is never exceeded. The lock and the claim are separate statements on purpose: the second sees what the lock's last
-- holder committed. A lane that is closed, held, at its cap or out of rate slots is passed over before any of its rows is read.
create function headgate.claim_jobs(claimer uuid, wanted int, lane_cap int, busy_lanes uuid[] default '{}', busy_counts int[] default '{}')
returns table (
    claim_batch_id uuid, id uuid, app_id uuid, integration_id uuid, batch_id uuid, assignment_id uuid, created_at timestamptz,
    run_at timestamptz, expires_at timestamptz, is_expired boolean, is_limited boolean, started_at timestamptz, timeout_ms int,
    rank smallint, priority smallint, attempt smallint, max_attempts smallint, lost_leases smallint, may_have_arrived boolean, is_full boolean, folded int,
    job_type text, record_type text, record_id text, deduplication_id text, serialize_key text, correlation_id text, payload jsonb
)
language plpgsql volatile
set jit = off
-- Statistics taken while `ready` was empty or huge must not choose the plan: every step below probes an index by its key, and
-- a plan that sorts or hashes a whole table instead would be 100 times slower (guarded by a test).
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off
set lock_timeout = '2s'
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    perform pg_advisory_xact_lock(4711, 1);
    return query
    with lanes_open as materialized (
        -- The lanes that may run now and have work, and how many jobs each may take: its free concurrency, and what its limits
        -- let go within half a second, so that jobs are not taken to be given back.
        -- Where a request tells of several jobs, a claim takes those of one request, and none while as many jobs run as requests
        -- may: each request in flight holds a job at least, so there are never too many, over all processes.
        select l.integration_id, l.last_claimed_at, cardinality(l.limit_keys) > 0 as is_limited,
            least(
                case
                    when l.jobs_per_request = 1 then l.max_concurrency - coalesce(p.n, 0)
                    when coalesce(p.n, 0) < l.max_concurrency then l.jobs_per_request
                    else 0
                end,
                coalesce(r.slots * l.jobs_per_request, wanted),
                wanted
            ) as room,
            greatest(lane_cap - coalesce(b.n, 0), 0) as share
        from headgate.lanes l
        left join headgate.processing_counts p on p.integration_id = l.integration_id
        left join unnest(busy_lanes, busy_counts) as b (lane, n) on b.lane = l.integration_id
        left join lateral (
            select min(case
                when greatest(x.tat_us, x.hold_until_us) > c.now_us + 500000 then 0
                else (c.now_us + 500000 - greatest(x.tat_us, x.hold_until_us, c.now_us)) / x.emission_us + 1
            end) as slots
            from headgate.rate_limits x, (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now_us) c
            where x.key = any (l.limit_keys)
        ) r on true
        where l.is_open and not l.is_external and (l.held_until is null or l.held_until <= clock_timestamp())
            and exists (select 1 from headgate.ready y where y.integration_id = l.integration_id)
    ), rooms as materialized (
        select integration_id, last_claimed_at, is_limited,
            case when count(*) over () > 1 then least(room, share) else room end as room
        from lanes_open
        where room > 0
    ), candidates as materialized (
        -- Oldest and most urgent of each lane; the turn makes the merge fair: every lane's first before any lane's second.
        select c.integration_id, c.rank, c.created_at, c.job_id, c.turn, l.is_limited
        from rooms l
        cross join lateral (
            select r.integration_id, r.rank, r.created_at, r.job_id,
                row_number() over (order by r.rank, r.created_at, r.job_id) as turn
            from (
                select integration_id, rank, created_at, job_id from headgate.ready
                where integration_id = l.integration_id
                order by rank, created_at, job_id
                limit greatest(l.room, 0)
            ) r
        ) c
        where l.room > 0
        order by (c.rank < 0) desc, c.turn, l.last_claimed_at nulls first, c.created_at, c.job_id
        limit wanted
    ), locked as materialized (
        -- First the entry, then the job, which is the order of a cancel too; and neither is waited for. An entry that a cancel is
        -- deleting, or a job that someone folds into right now, is passed over: the claim is part of no deadlock.
        select c.integration_id, c.rank, c.created_at, c.job_id, c.turn, c.is_limited, j.status, j.due_at, j.is_held,
            -- Asked once: a job that falls due meanwhile is either claimed or put back, never neither.
            (j.status = 0 or j.due_at <= clock_timestamp()) and not j.is_held as is_due
        from candidates c
        cross join lateral (
            select 1 from headgate.ready r
            where r.integration_id = c.integration_id and r.rank = c.rank and r.created_at = c.created_at and r.job_id = c.job_id
            for update skip locked offset 0
        ) free
        left join lateral (
            select j.id, j.status, j.is_held, case when j.status = 2 then j.retry_at else j.run_at end as due_at
            from headgate.jobs j where j.id = c.job_id
            for update skip locked offset 0
        ) j on true
        where j.id is not null or not exists (select 1 from headgate.jobs k where k.id = c.job_id)
    ), taken as materialized (
        delete from headgate.ready r
        using locked c
        where r.integration_id = c.integration_id and r.rank = c.rank and r.created_at = c.created_at and r.job_id = c.job_id
        returning r.job_id, r.integration_id, c.is_limited, c.status, c.due_at, c.is_due, c.is_held
    ), claimed as materialized (
        update headgate.jobs j
        set status = 1, attempt = j.attempt + 1, assignment_id = gen_random_uuid(), worker_id = claimer,
            started_at = clock_timestamp(), retry_at = null
        from taken t
        where j.id = t.job_id and t.status <> 1 and t.is_due
        returning j.id, j.app_id, j.integration_id, j.batch_id, j.assignment_id, j.created_at, j.run_at, j.expires_at,
            j.expires_at <= clock_timestamp() as is_expired, t.is_limited, j.started_at, j.timeout_ms, j.rank, j.priority, j.attempt,
            j.max_attempts, j.lost_leases, j.may_have_arrived, j.is_full, j.folded, j.job_type, j.record_type, j.record_id, j.deduplication_id,
            j.serialize_key, j.correlation_id, j.payload
    ), put_back as (
        -- A row of `ready` that a race (or a clock set back) left there before its time: the job waits.
        insert into headgate.waiting (due_at, job_id, integration_id)
        select t.due_at, t.job_id, t.integration_id from taken t
        where t.status = 2 and not t.is_due and not t.is_held
        on conflict (job_id) do nothing
    ), counted as (
        -- An attempt of 0 was pending, any other was to be retried.
        insert into headgate.job_count_deltas (integration_id, status, attempt, n)
        select d.integration_id, d.status, d.attempt, sum(d.n)
        from (
            select integration_id, (case when attempt = 1 then 0 else 2 end)::smallint as status, (attempt - 1)::smallint as attempt, -1 as n
            from claimed
            union all
            select integration_id, 1::smallint, attempt, 1 from claimed
        ) d
        group by d.integration_id, d.status, d.attempt
    ), served as (
        -- Someone who changes a lane must not hold up all claims.
        update headgate.lanes l set last_claimed_at = clock_timestamp()
        from (
            select integration_id from headgate.lanes where integration_id in (select integration_id from claimed)
            for update skip locked
        ) s
        where l.integration_id = s.integration_id
    ), batch as (
        insert into headgate.claim_batches (id, worker_id, job_ids)
        select gen_random_uuid(), claimer, array_agg(id) from claimed having count(*) > 0
        returning id
    )
    select b.id, c.id, c.app_id, c.integration_id, c.batch_id, c.assignment_id, c.created_at, c.run_at, c.expires_at,
        coalesce(c.is_expired, false), c.is_limited, c.started_at, c.timeout_ms, c.rank, c.priority, c.attempt, c.max_attempts,
        c.lost_leases, c.may_have_arrived, c.is_full, c.folded, c.job_type, c.record_type, c.record_id, c.deduplication_id, c.serialize_key,
        c.correlation_id, c.payload
    from claimed c cross join batch b
    order by c.rank, c.created_at, c.id;
end;
$$;

-- Moves due jobs from `waiting` to `ready`; a job behind another of its serialize key is in neither. Answers how many.
create function headgate.promote_due(most int) returns int
language sql volatile
as $$
    with due as materialized (
        select due_at, job_id from headgate.waiting
        where due_at <= clock_timestamp()
        order by due_at, job_id
        limit most
        for update skip locked
    ), found as materialized (
        -- The job's row too, not waited for: a fold that is changing its rank, or a cancel, would miss an entry made meanwhile
        -- with the rank of before. It stays in `waiting` until the next round. An entry without a job just goes.
        select d.due_at, d.job_id, j.integration_id, j.rank, j.created_at, j.status, j.is_held
        from due d
        left join lateral (
            select j.id, j.integration_id, j.rank, j.created_at, j.status, j.is_held from headgate.jobs j where j.id = d.job_id
            for update skip locked offset 0
        ) j on true
        where j.id is not null or not exists (select 1 from headgate.jobs k where k.id = d.job_id)
    ), gone as materialized (
        delete from headgate.waiting w using found f
        where w.due_at = f.due_at and w.job_id = f.job_id
        returning w.job_id, f.integration_id, f.rank, f.created_at, f.status, f.is_held
    ), promoted as (
        insert into headgate.ready (integration_id, rank, created_at, job_id)
        select integration_id, rank, created_at, job_id from gone where status <> 1 and not is_held
        on conflict do nothing
        returning 1
    )
    select count(*)::int from gone;
$$;

-- When the claimer should look again if nobody wakes it: the next due job, or the next slot or end of quiet of a lane that has
-- work. Null: nothing is known to come.
create function headgate.next_wake_at() returns timestamptz
language sql volatile
as $$
    select least(
        (select min(due_at) from headgate.waiting),
        (
            -- A claim looks half a second ahead of the next slot.
            select min(greatest(
                l.held_until,
                (
                    select to_timestamp(max(greatest(x.tat_us, x.hold_until_us)) / 1000000.0) - interval '490 milliseconds'
                    from headgate.rate_limits x where x.key = any (l.limit_keys)
                )
            ))
            from headgate.lanes l
            where l.is_open and not l.is_external
                and (l.held_until > clock_timestamp() or l.limit_keys <> '{}')
                and exists (select 1 from headgate.ready r where r.integration_id = l.integration_id)
        )
    );
$$;

-- Reserves up to `wanted` send times that keep to every one of the limits together (GCRA as a scheduler, RELIABILITY 4): slots of
-- one limit are never nearer to each other than its emission, and none lies further ahead than `horizon_us`. Fewer than wanted,
-- or none, means the limits are used up; `next_free_us` tells when to ask again. Rows are locked in the order of their keys.
--
-- Call it in a transaction of its own: it makes that one commit asynchronously (a crash forgets at most the last 0.6 s of slots).
create function headgate.reserve_slots(limit_keys text[], wanted int, horizon_us bigint)
returns table (slots_us bigint[], now_us bigint, next_free_us bigint)
language plpgsql volatile
as $$
declare
    limits headgate.rate_limits[];
    slot bigint;
    now_at bigint;
    given bigint[] := '{}';
begin
    perform set_config('synchronous_commit', 'off', true);
    select array_agg(x order by x.key) into limits
    from (select r.* from headgate.rate_limits r where r.key = any (limit_keys) order by r.key for update) x;
    now_at := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
    if limits is null then
        -- No such limit: free.
        return query select array_fill(now_at, array[wanted]), now_at, now_at;
        return;
    end if;
    for i in 1 .. array_length(limits, 1) loop
        -- A time further ahead than any plan reaches means that the clock was set back.
        if limits[i].tat_us > now_at + horizon_us + limits[i].emission_us + 10000000 then
            limits[i].tat_us := now_at;
        end if;
    end loop;
    loop
        slot := now_at;
        for i in 1 .. array_length(limits, 1) loop
            slot := greatest(slot, limits[i].tat_us, limits[i].hold_until_us);
        end loop;
        exit when coalesce(array_length(given, 1), 0) >= wanted or slot > now_at + horizon_us;
        given := given || slot;
        for i in 1 .. array_length(limits, 1) loop
            limits[i].tat_us := slot + limits[i].emission_us;
            if slot >= limits[i].window_started_us + limits[i].per_seconds * 1000000::bigint then
                limits[i].used_before := case
                    when slot < limits[i].window_started_us + 2 * limits[i].per_seconds * 1000000::bigint then limits[i].used else 0
                end;
                limits[i].window_started_us := slot;
                limits[i].used := 0;
            end if;
            limits[i].used := limits[i].used + 1;
        end loop;
    end loop;
    if array_length(given, 1) > 0 then
        update headgate.rate_limits r
        set tat_us = x.tat_us, window_started_us = x.window_started_us, used = x.used, used_before = x.used_before
        from unnest(limits) x
        where r.key = x.key;
    end if;
    return query select given, now_at, slot;
end;
$$;

-- The oldest claimable job of a lane: one probe per rank that occurs, not a walk over its rows.
create function headgate.oldest_ready_at(lane uuid) returns timestamptz
language sql stable
as $$
    with recursive ranks (rank, created_at) as (
        (
            select rank, created_at from headgate.ready where integration_id = lane
            order by rank, created_at limit 1
        )
        union all
        select n.rank, n.created_at
        from ranks p
        cross join lateral (
            select r.rank, r.created_at from headgate.ready r
            where r.integration_id = lane and r.rank > p.rank
            order by r.rank, r.created_at limit 1
        ) n
    )
    select min(created_at) from ranks;
$$;

-- The ended attempts of a job, oldest first, as model::attempt::Attempt reads them.
create function headgate.attempts_of(job uuid) returns jsonb
language sql stable
as $$
    select coalesce(jsonb_agg(jsonb_build_object(
        'attempt', t.attempt, 'worker_id', t.worker_id, 'started_at', t.started_at, 'finished_at', t.finished_at, 'outcome', t.outcome,
        'error_kind', t.error_kind, 'error_message', t.error_message, 'response_status', t.response_status,
        'response_excerpt', t.response_excerpt, 'duration_ms', t.duration_ms, 'next_wait_ms', t.next_wait_ms,
        'next_wait_reason', t.next_wait_reason
    ) order by t.finished_at, t.attempt), '[]')
    from headgate.job_attempts t
    where t.job_id = job
$$;
