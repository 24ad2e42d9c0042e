-- Whose processes do a lane's jobs: a claim never takes what its process cannot run. Older workers run on this schema too: they go on claiming
-- from every lane and give back what they do not know.

-- The program that does the jobs of `own_lane`; means nothing without one. Two programs have each a lane of one name.
alter table headgate.integrations add column own_program text not null default 'main';
create unique index integrations_own_lane_of_program_key on headgate.integrations (app_id, own_program, own_lane) where own_lane is not null;
drop index headgate.integrations_own_lane_key;

-- The same where the claim reads it. Null: `headgate` itself.
alter table headgate.lanes add column served_by text;
update headgate.lanes l set served_by = i.own_program
from headgate.integrations i where i.id = l.integration_id and i.own_lane is not null;

-- Taken from the integration, so that a lane is right whichever version of the program makes it.
create function headgate.set_served_by() returns trigger
language plpgsql
as $$
begin
    new.served_by := (select i.own_program from headgate.integrations i where i.id = new.integration_id and i.own_lane is not null);
    return new;
end;
$$;
create trigger lanes_are_served before insert on headgate.lanes for each row execute function headgate.set_served_by();

-- Whose lanes a worker claims from, for people who ask why a job is not running. Null: those of `headgate`.
alter table headgate.workers add column program text;

-- Awake lanes are found by whose they are: lanes of a program that does not run never fall asleep, because nobody but its own processes looks at
-- them, and a claim of another one would read them all. Older workers read the index whole, as before.
drop index headgate.lanes_awake;
-- Null is nothing that an index is asked for: `headgate`'s own are those of ''.
create index lanes_awake on headgate.lanes ((coalesce(served_by, '')), integration_id) where is_open and not is_external and not is_asleep;

-- Lanes whose jobs may run now, as the claim looks at them; asleep or not. `cap`: how many at once, as its breaker allows; `program`: as in the
-- index.
create view headgate.runnable_lanes as
select integration_id, last_claimed_at, woken_at, jobs_per_request, limit_keys, least(max_concurrency, breaker_cap) as cap,
    breaker_cap is not null as is_probe, is_asleep, coalesce(served_by, '') as program
from headgate.lanes
where is_open and not is_external and breaker_cap is distinct from 0 and (held_until is null or held_until <= clock_timestamp());
