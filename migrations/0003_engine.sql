-- Functions, views and triggers of the queue.
--
-- Those that a claim calls are in plpgsql with settings of their own. They are planned once in a session: the plan of a function in plain SQL
-- lives as long as the statement that calls it and cost a millisecond at each call, ten times what it found out. And the kept plans are made for
-- tables of any size, whatever statistics say that were taken while `ready` or `waiting` was empty or huge.

-- How many jobs of each lane are being processed, deltas included. Read under the claim's lock it is never too low.
create view headgate.processing_counts as
select integration_id, sum(n)::bigint as n
from (
    select integration_id, n from headgate.job_counts where status = 1
    union all
    select integration_id, n from headgate.job_count_deltas where status = 1
) counted
group by integration_id;

-- Notes the lanes of new entries that sleep or may fall asleep soon: lanes not woken for 5 seconds do when a claim finds them empty. The note is
-- committed with the entry; a commit that takes longer than a second may find its lane asleep, which `wake_forgotten` mends. Lanes whose jobs
-- other systems claim never sleep.
create function headgate.wake_lanes() returns trigger
language plpgsql
as $$
begin
    insert into headgate.lane_wakes (integration_id)
    select l.integration_id from headgate.lanes l
    where l.integration_id in (select a.integration_id from added a)
        and not l.is_external
        and (l.is_asleep or l.woken_at < clock_timestamp() - interval '4 seconds');
    return null;
end;
$$;
create trigger ready_wakes_lanes after insert on headgate.ready
referencing new table as added
for each statement execute function headgate.wake_lanes();

-- Wakes lanes that sleep although they have work: an entry that was committed seconds after it was made. Answers how many.
create function headgate.wake_forgotten() returns int
language sql volatile
as $$
    with forgotten as materialized (
        select l.integration_id from headgate.lanes l
        where l.is_asleep and exists (select 1 from headgate.ready r where r.integration_id = l.integration_id)
        order by l.integration_id
        for update skip locked
    ), woken as (
        update headgate.lanes l set is_asleep = false, woken_at = clock_timestamp()
        from forgotten f where l.integration_id = f.integration_id
        returning 1
    )
    select count(*)::int from woken;
$$;

-- Moves due jobs from `waiting` to `ready`; a job behind another of its serialize key is in neither. Answers how many. The clock is asked once: one
-- that is asked for every entry cannot be looked up in the index, and a round that found little read all of `waiting`. Entries are deleted where
-- they lie. A fold puts `run_at` off in the job's row alone; its entry follows here, when it would have been due: once for each quiet, however
-- many folds.
create function headgate.promote_due(most int) returns int
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan
as $$
declare
    moved int;
begin
    with found as materialized (
        -- The job's row is the lock, not waited for: a fold that is changing its rank, or a cancel, would miss an entry made meanwhile with the
        -- rank of before. It stays in `waiting` until the next round, and what is due behind it is moved; thousands that one producer
        -- has locked would keep everything from being moved otherwise. An entry without a job just goes.
        select d.entry, d.job_id, j.integration_id, j.rank, j.created_at, j.status, j.is_parked, j.run_at,
            coalesce(j.status = 0 and j.gathers_until is not null and not j.is_parked and j.run_at > clock_timestamp(), false) as gathers
        from (
            select w.job_id, w.ctid as entry from headgate.waiting w
            where w.due_at <= (select clock_timestamp())
            order by w.due_at, w.job_id
            limit 8 * most::bigint
        ) d
        left join lateral (
            select j.id, j.integration_id, j.rank, j.created_at, j.status, j.is_parked, j.run_at, j.gathers_until
            from headgate.jobs j where j.id = d.job_id
            for update skip locked offset 0
        ) j on true
        where j.id is not null or (select k.id from headgate.jobs k where k.id = d.job_id) is null
        limit most
    ), postponed as (
        update headgate.waiting w set due_at = f.run_at from found f
        where w.ctid = f.entry and f.gathers
    ), gone as materialized (
        -- Where it lies: one that was moved or taken away since it was read is somebody else's.
        delete from headgate.waiting w using found f
        where w.ctid = f.entry and not f.gathers
        returning w.job_id, f.integration_id, f.rank, f.created_at, f.status, f.is_parked
    ), promoted as (
        insert into headgate.ready (integration_id, rank, created_at, job_id)
        select integration_id, rank, created_at, job_id from gone where status <> 1 and not is_parked
        on conflict do nothing
        returning 1
    )
    select count(*)::int into moved from gone;
    return moved;
end;
$$;

-- What has waited longest behind more urgent jobs of its lane: the oldest `most` jobs of one rank behind `after_rank`, namely the rank whose oldest
-- job is older than any other's. Only what has waited a minute. One probe for each rank that occurs.
create function headgate.aged_jobs(lane uuid, after_rank smallint, most int)
returns table (rank smallint, created_at timestamptz, job_id uuid, entry tid)
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return query
    with recursive heads (rank, created_at) as (
        (
            select r.rank, r.created_at from headgate.ready r
            where r.integration_id = lane and r.rank > after_rank
            order by r.rank, r.created_at limit 1
        )
        union all
        select n.rank, n.created_at
        from heads h
        cross join lateral (
            select r.rank, r.created_at from headgate.ready r
            where r.integration_id = lane and r.rank > h.rank
            order by r.rank, r.created_at limit 1
        ) n
    ), oldest as (
        select h.rank from heads h
        where h.created_at < clock_timestamp() - interval '1 minute'
        order by h.created_at limit 1
    )
    select r.rank, r.created_at, r.job_id, r.entry
    from oldest o
    cross join lateral (
        select r.rank, r.created_at, r.job_id, r.ctid as entry from headgate.ready r
        where r.integration_id = lane and r.rank = o.rank and r.created_at < clock_timestamp() - interval '1 minute'
        order by r.created_at, r.job_id limit most
    ) r;
end;
$$;

-- The oldest claimable job of a lane: one probe for each rank that occurs, not a walk over its rows.
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

-- Which jobs belong into the queue and are not in it, said once: what lets jobs in asks it, and so do the hourly look for what a fault left out
-- and the explanation of why a job does not run.
--
-- A job that waits is in `ready`, or in `waiting` until its time has come, if it is not parked and, where it has a serialize key, is the
-- head of it. Each condition is a sub-query of its own that probes a key: joined, all of `waiting` was read for one job.
create view headgate.unqueued_jobs as
select j.id, j.integration_id, j.rank, j.created_at, coalesce(j.retry_at, j.run_at) as due_at
from headgate.jobs j
where j.status <> 1 and not j.is_parked
    and (
        j.serialize_key is null
        or j.id = (select k.head_job_id from headgate.serialize_keys k where k.integration_id = j.integration_id and k.key = j.serialize_key)
    )
    and (select w.job_id from headgate.waiting w where w.job_id = j.id) is null
    and (
        select r.job_id from headgate.ready r
        where r.integration_id = j.integration_id and r.rank = j.rank and r.created_at = j.created_at and r.job_id = j.id
    ) is null;

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

-- Kind and milliseconds since 1970 in one number, as model::job::Twin reads it: the kinds in the order of EventType::ALL, 0 for any other.
create function headgate.twin(kind text, at timestamptz) returns bigint
language sql stable
as $$
    select (extract(epoch from at) * 1000)::bigint * 16 + coalesce(array_position(array[
        'record.created', 'record.updated', 'record.replaced', 'record.deleted', 'attribute.update', 'attribute.delta_update',
        'metadata.update', 'metadata.single_update'
    ], kind), 0)
$$;

-- Those of the change that waits behind a job: the last twenty, null when there are none.
create function headgate.twins_of(successor jsonb) returns bigint[]
language sql immutable
as $$
    select t.twins[cardinality(t.twins) - 19:]
    from (
        select array_agg(e.twin::bigint order by e.n) as twins
        from jsonb_array_elements_text(case when jsonb_typeof(successor -> 'twins') = 'array' then successor -> 'twins' end)
            with ordinality e (twin, n)
    ) t
$$;

-- The correlation ids of the change that waits behind a job; null when it has only one.
create function headgate.correlation_ids_of(successor jsonb) returns text[]
language sql immutable
as $$
    select array_agg(e.id order by e.n)
    from jsonb_array_elements_text(
        case when jsonb_typeof(successor -> 'correlation_ids') = 'array' then successor -> 'correlation_ids' end
    ) with ordinality e (id, n)
$$;

-- The correlation ids of a job (`known`, or `first` alone) after a fold that brings others (`added`, or `added_id` alone): each once, the newest
-- last.
create function headgate.joined_correlations(known text[], first text, added text[], added_id text) returns text[]
language plpgsql immutable
as $$
begin
    if added is null and added_id = coalesce(known[cardinality(known)], first) then
        return known;
    end if;
    added := coalesce(added, array[added_id]);
    return array(
        select k.id from unnest(coalesce(known, array[first])) with ordinality k (id, n) where k.id <> all (added) order by k.n
    ) || added;
end
$$;

-- As `queue::store::jobs::deduplication_id` makes it.
create function headgate.record_deduplication_id(record_type text, record_id text) returns text
language sql immutable parallel safe
return case
    when char_length('headgate:record:' || replace(replace(record_type, '%', '%25'), ':', '%3A') || ':' || record_id) <= 255
        then 'headgate:record:' || replace(replace(record_type, '%', '%25'), ':', '%3A') || ':' || record_id
    else 'headgate:record#' || encode(sha256(convert_to(
        'headgate:record:' || replace(replace(record_type, '%', '%25'), ':', '%3A') || ':' || record_id, 'UTF8')), 'hex')
end;

-- Makes the partition of one day (UTC) unless it is there; answers whether it did. It is made apart and then attached: that takes no lock
-- on the parent that a read or a write would wait for.
create function headgate.make_partition(parent text, day date) returns boolean
language plpgsql volatile
as $$
declare
    partition_name text := parent || '_' || to_char(day, 'YYYYMMDD');
begin
    if to_regclass(format('headgate.%I', partition_name)) is not null then
        return false;
    end if;
    execute format('create table headgate.%I (like headgate.%I including all)', partition_name, parent);
    execute format('alter table headgate.%I attach partition headgate.%I for values from (%L) to (%L)', parent, partition_name,
        day::timestamp at time zone 'UTC', (day + 1)::timestamp at time zone 'UTC');
    return true;
end;
$$;

-- Makes the partitions of today and of the days ahead; answers how many were missing. Processes take turns (advisory lock 4711, 2),
-- but only when there is something to make.
create function headgate.make_partitions(days_ahead int) returns int
language plpgsql volatile
as $$
declare
    today date := (clock_timestamp() at time zone 'UTC')::date;
    parents text[] := array['finished_jobs', 'job_attempts'];
    made int := 0;
begin
    if not exists (
        select 1 from unnest(parents) parent, generate_series(0, days_ahead) ahead
        where to_regclass(format('headgate.%I', parent || '_' || to_char(today + ahead, 'YYYYMMDD'))) is null
    ) then
        return 0;
    end if;
    perform pg_advisory_xact_lock(4711, 2);
    select count(*) filter (where headgate.make_partition(parent, today + ahead)) into made
    from unnest(parents) parent, generate_series(0, days_ahead) ahead;
    return made;
end;
$$;

-- The first days, so that a database is whole once it is migrated; from then on every process and the leader make them.
select headgate.make_partitions(7);
