-- The engine, second reading. Older workers run on this schema too.

-- Lanes whose jobs may run now, as the claim looks at them; asleep or not. `cap`: how many at once, as its breaker allows.
create view headgate.runnable_lanes as
select integration_id, last_claimed_at, woken_at, jobs_per_request, limit_keys, least(max_concurrency, breaker_cap) as cap,
    breaker_cap is not null as is_probe, is_asleep
from headgate.lanes
where is_open and not is_external and breaker_cap is distinct from 0 and (held_until is null or held_until <= clock_timestamp());

-- Whether a claim that got less than it wanted should be made again at once: there are more lanes awake than one looks at, and some were not
-- looked at lately.
create or replace function headgate.lanes_are_left(lately interval) returns boolean
language sql volatile
as $$
    select count(*) > 64 and bool_or(l.last_claimed_at is null or l.last_claimed_at < clock_timestamp() - lately)
    from headgate.runnable_lanes l
    where not l.is_asleep
$$;
