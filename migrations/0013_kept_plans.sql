-- What a claim asks beside its own statement: the due jobs, whether lanes are left, when to look again, what has aged. Older workers call the
-- same functions, or those without `program`, which stay.
--
-- Each is planned once in a session, not at each call: the plans of functions in plain SQL live as long as the statement that calls them, and
-- cost a millisecond each time, ten times what they found out. Kept plans are made for tables of any size, whatever the statistics of that day
-- say (the settings).

-- Promotion touches what it moves: the clock is asked once, because one that is asked for every entry cannot be looked up in the index, and a
-- round that found less than it might take read all of `waiting`; entries are deleted where they lie.
create or replace function headgate.promote_due(most int) returns int
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan
as $$
declare
    moved int;
begin
    with found as materialized (
        -- The job's row is the lock, not waited for: a fold that is changing its rank, or a cancel, would miss an entry made meanwhile with the
        -- rank of before. It stays in `waiting` until the next round, and what is due behind it is moved; thousands that one producer
        -- holds would keep everything from being moved otherwise. An entry without a job just goes.
        select d.entry, d.job_id, j.integration_id, j.rank, j.created_at, j.status, j.is_held
        from (
            select w.job_id, w.ctid as entry from headgate.waiting w
            where w.due_at <= (select clock_timestamp())
            order by w.due_at, w.job_id
            limit 8 * most::bigint
        ) d
        left join lateral (
            select j.id, j.integration_id, j.rank, j.created_at, j.status, j.is_held from headgate.jobs j where j.id = d.job_id
            for update skip locked offset 0
        ) j on true
        where j.id is not null or (select k.id from headgate.jobs k where k.id = d.job_id) is null
        limit most
    ), gone as materialized (
        -- Where it lies: one that was moved or taken away since it was read is somebody else's.
        delete from headgate.waiting w using found f
        where w.ctid = f.entry
        returning w.job_id, f.integration_id, f.rank, f.created_at, f.status, f.is_held
    ), promoted as (
        insert into headgate.ready (integration_id, rank, created_at, job_id)
        select integration_id, rank, created_at, job_id from gone where status <> 1 and not is_held
        on conflict do nothing
        returning 1
    )
    select count(*)::int into moved from gone;
    return moved;
end;
$$;

-- As those without `program`, which older workers call: of the lanes that it serves.
create function headgate.lanes_are_left(lately interval, program text) returns boolean
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan
as $$
begin
    return (
        select count(*) > 64 and bool_or(l.last_claimed_at is null or l.last_claimed_at < clock_timestamp() - lately)
        from headgate.runnable_lanes l
        where not l.is_asleep and l.program = coalesce($2, '')
    );
end;
$$;

create function headgate.next_wake_at(program text) returns timestamptz
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan
as $$
begin
    return least(
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
            where l.is_open and not l.is_external and not l.is_asleep and l.breaker_cap is distinct from 0
                and coalesce(l.served_by, '') = coalesce($1, '')
                and (l.held_until > clock_timestamp() or l.limit_keys <> '{}')
                and exists (select 1 from headgate.ready r where r.integration_id = l.integration_id)
        )
    );
end;
$$;

-- Called for one in eight of a claim's lanes: planned each time, 25 calls cost a claim among thousands of integrations 35 ms.
create or replace function headgate.aged_jobs(lane uuid, after_rank smallint, most int)
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
