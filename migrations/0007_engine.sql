-- The engine under any backlog. Older workers run on this schema too: new columns have defaults, and what they call stays.

-- The breaker's word on a lane: no more jobs than this at once. Null: whatever max_concurrency allows; 0: none (the breaker is open).
alter table headgate.lanes add column breaker_cap int;
alter table headgate.lanes add constraint lanes_breaker_cap_range check (breaker_cap >= 0);

-- How far the attempt under way is, as its handler says: {"done", "total", "note", "at"}. Gone with the attempt.
alter table headgate.jobs add column progress jsonb;

-- A lane whose `ready` was empty for some seconds sleeps: thousands of idle integrations cost a claim nothing. Whatever enters `ready`
-- has it woken (the trigger below).
alter table headgate.lanes add column is_asleep boolean not null default false;
alter table headgate.lanes add column woken_at timestamptz not null default clock_timestamp();
create index lanes_awake on headgate.lanes (integration_id) where is_open and not is_external and not is_asleep;
-- Where urgent work waits, when there are more lanes than one claim looks at.
create index ready_urgent on headgate.ready (integration_id) where rank < 0;
-- Ids do not compress: trying cost each claim of 500 a third of a millisecond.
alter table headgate.claim_batches alter column job_ids set storage external;

-- Lanes that got an entry while they slept: taken away by the next claim, which wakes them. Appended, so that no transaction that makes
-- jobs locks a lane: whoever pauses or edits it, a breaker and the claim itself would wait until it ends.
create table headgate.lane_wakes (
    integration_id uuid not null
);

-- Notes the lanes of new entries that sleep or may fall asleep soon: lanes not woken for 5 seconds do, when a claim finds them empty. The note
-- is committed with the entry. One that takes longer than a second to be committed may find its lane asleep: see `wake_forgotten`.
create function headgate.wake_lanes() returns trigger
language plpgsql
as $$
begin
    insert into headgate.lane_wakes (integration_id)
    select l.integration_id from headgate.lanes l
    where l.integration_id in (select a.integration_id from added a)
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

-- What has waited longest behind more urgent jobs of its lane: the oldest `most` jobs of one rank behind `after_rank`, that rank whose
-- oldest is older than any other's. Only what has waited a minute. One probe per rank that occurs.
create function headgate.aged_jobs(lane uuid, after_rank smallint, most int)
returns table (rank smallint, created_at timestamptz, job_id uuid, entry tid)
language sql volatile
as $$
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
$$;

-- The claim is a statement of the program's now (crates/queue/src/store/jobs/claim.sql): the rows of a function are copied twice more.
-- No release ever called this one.
drop function headgate.claim_jobs(uuid, int, int, uuid[], int[]);

-- Whether a claim that got less than it wanted should be made again at once: there are more lanes awake than one looks at, and some were not
-- looked at lately.
create function headgate.lanes_are_left(lately interval) returns boolean
language sql volatile
as $$
    select count(*) > 64 and bool_or(l.last_claimed_at is null or l.last_claimed_at < clock_timestamp() - lately)
    from headgate.lanes l
    where l.is_open and not l.is_external and not l.is_asleep and l.breaker_cap is distinct from 0
        and (l.held_until is null or l.held_until <= clock_timestamp())
$$;

-- When the claimer should look again if nobody wakes it: the next due job, or the next slot or end of quiet of a lane that has
-- work. Null: nothing is known to come.
create or replace function headgate.next_wake_at() returns timestamptz
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
            where l.is_open and not l.is_external and not l.is_asleep and l.breaker_cap is distinct from 0
                and (l.held_until > clock_timestamp() or l.limit_keys <> '{}')
                and exists (select 1 from headgate.ready r where r.integration_id = l.integration_id)
        )
    );
$$;
