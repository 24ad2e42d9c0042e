-- Awake lanes are found by whose they are: lanes of a program that does not run never fall asleep, because nobody but its own processes looks at
-- them, and a claim of another one read them all. Older workers run on this schema too: they read the index whole, as before.

drop index headgate.lanes_awake;
-- Null is nothing that an index is asked for: `headgate`'s own are those of ''.
create index lanes_awake on headgate.lanes ((coalesce(served_by, '')), integration_id) where is_open and not is_external and not is_asleep;

-- As in 0012, and `program`, by which lanes are found.
create or replace view headgate.runnable_lanes as
select integration_id, last_claimed_at, woken_at, jobs_per_request, limit_keys, least(max_concurrency, breaker_cap) as cap,
    breaker_cap is not null as is_probe, is_asleep, served_by, coalesce(served_by, '') as program
from headgate.lanes
where is_open and not is_external and breaker_cap is distinct from 0 and (held_until is null or held_until <= clock_timestamp());

-- As in 0013, by `program`.
create or replace function headgate.lanes_are_left(lately interval, program text) returns boolean
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

-- As in 0013, by `program`.
create or replace function headgate.next_wake_at(program text) returns timestamptz
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
