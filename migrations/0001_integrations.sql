-- Tenants, their connections to external systems, and what the claim has to know of each: lanes, breakers, rate limits.

-- A program that keeps migrations of its own has it already: the list of these lies in it.
create schema if not exists headgate;

create table headgate.apps (
    id uuid primary key,
    name text not null,
    slug text not null,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    constraint apps_name_length check (char_length(name) between 1 and 200),
    constraint apps_slug_form check (slug ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$')
);
comment on table headgate.apps is 'Tenants: one row for each customer of the platform.';
create unique index apps_slug_key on headgate.apps (slug);
-- The trail finds an app by its name or the beginning of one.
create index apps_by_name on headgate.apps (lower(name) text_pattern_ops);

create table headgate.integrations (
    id uuid primary key,
    app_id uuid not null references headgate.apps (id) on delete cascade,
    name text not null,
    integration_type text not null,
    -- The external integration that every app has from the start: jobs that name no integration run there.
    is_built_in boolean not null default false,
    -- What a program that uses the queue as a library calls its lane. Operators may change `name`; this stays, so that the program
    -- finds its lane again.
    own_lane text,
    -- The program that does the jobs of `own_lane`. Two programs may each have a lane of one name.
    own_program text,
    endpoint_url text,
    state text not null default 'active',
    state_reason text,
    -- Null: the default of the process, for these three.
    timeout_ms int,
    max_attempts smallint,
    -- Written as the setting is.
    retry_schedule text,
    max_concurrency int not null default 50,
    -- Null: every record type.
    record_types text[],
    -- Limits in the order they were given: [{"requests": n, "per_seconds": n}].
    rate_limits jsonb not null default '[]',
    rate_limit_key text,
    -- Only bundles have one: changes are gathered until the next multiple of it.
    bundle_window_seconds int,
    -- Changes of a record are gathered until it was quiet for so long, and never longer than the maximum.
    debounce_seconds int,
    debounce_max_seconds int,
    headers jsonb not null default '{}',
    metadata jsonb not null default '{}',
    -- Sealed with the master key; the table, the row's id and the column are the associated data.
    signing_secret_sealed bytea not null,
    previous_secret_sealed bytea,
    previous_secret_until timestamptz,
    -- Secrets before the previous one whose 24 hours are not over: any number of rotations may fall within that time.
    older_secrets_sealed bytea[] not null default '{}',
    older_secrets_until timestamptz[] not null default '{}',
    credentials_sealed bytea,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    constraint integrations_name_length check (char_length(name) between 1 and 200),
    constraint integrations_type_known check (integration_type in ('webhook', 'rest', 'bundle', 'external')),
    constraint integrations_state_known check (state in ('active', 'paused', 'disabled')),
    constraint integrations_endpoint_present check ((integration_type = 'external') = (endpoint_url is null)),
    constraint integrations_own_lane_has_program check ((own_lane is null) = (own_program is null)),
    constraint integrations_own_lane_external check (own_lane is null or (integration_type = 'external' and not is_built_in)),
    constraint integrations_bundle_window_present check ((integration_type = 'bundle') = (bundle_window_seconds is not null)),
    constraint integrations_bundle_window_range check (bundle_window_seconds between 1 and 86400),
    constraint integrations_debounce_range check (
        (debounce_seconds is null) = (debounce_max_seconds is null)
        and debounce_seconds between 1 and 3600 and debounce_max_seconds between debounce_seconds and 86400
    ),
    constraint integrations_timeout_range check (timeout_ms between 100 and 3600000),
    constraint integrations_max_attempts_range check (max_attempts between 1 and 100),
    constraint integrations_retry_schedule_length check (char_length(retry_schedule) between 1 and 2000),
    constraint integrations_max_concurrency_range check (max_concurrency between 1 and 10000),
    constraint integrations_older_secrets_have_an_end check (cardinality(older_secrets_sealed) = cardinality(older_secrets_until))
);
comment on table headgate.integrations is 'An app''s connections to external systems, and lanes of programs that use the queue as a library.';
create unique index integrations_built_in_key on headgate.integrations (app_id) where is_built_in;
create unique index integrations_own_lane_of_program_key on headgate.integrations (app_id, own_program, own_lane) where own_lane is not null;
-- The predicate always holds. An integration is looked up by its id with every job that is enqueued, and with statistics taken while the
-- table was almost empty the planner would read this index whole for that: a lookup by `id` does not imply the predicate, so it cannot.
create index integrations_by_app on headgate.integrations (app_id, id) where app_id is not null;

-- When the current window of a bundle ends: the next multiple of its length, the same for all integrations. Null without a window.
create function headgate.window_ends_at(window_seconds int) returns timestamptz
language sql volatile
as $$
    select to_timestamp((floor(extract(epoch from clock_timestamp()) / window_seconds) + 1) * window_seconds)
$$;

create table headgate.lanes (
    integration_id uuid primary key references headgate.integrations (id) on delete cascade,
    app_id uuid not null,
    is_external boolean not null,
    -- The program that serves it, repeated from the integration by a trigger. Null: `headgate` itself.
    served_by text,
    is_open boolean not null default true,
    max_concurrency int not null,
    -- What the breaker allows at once. Null: whatever max_concurrency says; 0: nothing (it is open).
    breaker_cap int,
    -- How many jobs one request tells of at most: more than one for bundles. Such jobs are claimed for one request at a time.
    jobs_per_request int not null default 1,
    -- The rows of rate_limits that every request of this lane must pass.
    limit_keys text[] not null default '{}',
    -- The external system asked for quiet until then (429 with Retry-After).
    quiet_until timestamptz,
    last_claimed_at timestamptz,
    -- A lane whose `ready` was empty for some seconds sleeps, so that thousands of idle integrations cost a claim nothing. What enters
    -- `ready` has it woken (`wake_lanes`).
    is_asleep boolean not null default false,
    woken_at timestamptz not null default clock_timestamp(),
    constraint lanes_jobs_per_request_range check (jobs_per_request >= 1),
    constraint lanes_breaker_cap_range check (breaker_cap >= 0)
) with (fillfactor = 50);
comment on table headgate.lanes is 'What the claim reads of an integration; written in the same transaction as the integration.';
-- What a claim asks of the lanes it took jobs of: the few whose breaker is not closed.
create index lanes_not_closed on headgate.lanes (integration_id) where breaker_cap is not null;
-- By program: nobody but its own processes puts the lanes of a program to sleep, and a claim of another one would read all of them.
-- An index is not asked for null, so `headgate`'s own lanes are those of ''.
create index lanes_awake on headgate.lanes ((coalesce(served_by, '')), integration_id) where is_open and not is_external and not is_asleep;

-- Taken from the integration, so that whoever makes a lane cannot get it wrong.
create function headgate.set_served_by() returns trigger
language plpgsql
as $$
begin
    new.served_by := (select i.own_program from headgate.integrations i where i.id = new.integration_id);
    return new;
end;
$$;
create trigger lanes_are_served before insert on headgate.lanes for each row execute function headgate.set_served_by();

-- The lanes whose jobs may run now, as the claim looks at them, asleep or not. `cap` is how many at once, as the breaker allows; `program` as in
-- lanes_awake.
create view headgate.runnable_lanes as
select integration_id, last_claimed_at, woken_at, jobs_per_request, limit_keys, least(max_concurrency, breaker_cap) as cap,
    breaker_cap is not null as is_probe, is_asleep, coalesce(served_by, '') as program
from headgate.lanes
where is_open and not is_external and breaker_cap is distinct from 0 and (quiet_until is null or quiet_until <= clock_timestamp());

-- Appended to instead of an update of `lanes`, so that a transaction that makes jobs locks no lane: otherwise whoever pauses or edits it, its
-- breaker and the claim would wait until that transaction ends. The next claim takes the rows away and wakes the lanes.
create table headgate.lane_wakes (
    integration_id uuid not null
);
comment on table headgate.lane_wakes is 'Lanes that got a claimable job while they slept.';

create table headgate.breakers (
    integration_id uuid primary key references headgate.integrations (id) on delete cascade,
    -- When it came into its state; null: it never opened.
    since timestamptz,
    probe_at timestamptz,
    held_until timestamptz,
    step_at timestamptz,
    failed_at timestamptz,
    -- The current half minute and the one before it: the failure rate is judged by these.
    recent_since timestamptz,
    recent_attempts int not null default 0,
    recent_failures int not null default 0,
    recent_attempts_before int not null default 0,
    recent_failures_before int not null default 0,
    failures_in_a_row int not null default 0,
    times_opened int not null default 0,
    successes int not null default 0,
    failures int not null default 0,
    -- As lanes.breaker_cap, which is all that a claim heeds; written in the same transactions.
    at_once int,
    -- Not closed, or something failed lately. Every process reads these once a second, so that only those whose jobs meet one of them have
    -- to write anything about it.
    is_watched boolean not null default false,
    state text not null default 'closed',
    reason text,
    constraint breakers_state_known check (state in ('closed', 'open', 'half_open', 'ramping')),
    constraint breakers_open_has_end check ((state = 'open') = (probe_at is not null)),
    constraint breakers_cap_fits check ((state = 'closed') = (at_once is null)),
    constraint breakers_change_has_time check (state = 'closed' or since is not null)
) with (fillfactor = 50);
comment on table headgate.breakers is 'Circuit breakers (model::rules::breaker). No row: closed, and nothing is known against it.';
create index breakers_watched on headgate.breakers (integration_id) where is_watched;

create table headgate.breaker_flips (
    id uuid primary key,
    integration_id uuid not null references headgate.integrations (id) on delete cascade,
    app_id uuid not null,
    at timestamptz not null,
    from_state text not null,
    to_state text not null,
    reason text not null,
    -- The user or key that asked for it; null: the engine.
    actor text,
    constraint breaker_flips_from_known check (from_state in ('closed', 'open', 'half_open', 'ramping')),
    constraint breaker_flips_to_known check (to_state in ('closed', 'open', 'half_open', 'ramping'))
);
comment on table headgate.breaker_flips is 'Every change of a breaker''s state, kept 30 days.';
create index breaker_flips_by_integration on headgate.breaker_flips (integration_id, id);
-- Retention.
create index breaker_flips_by_age on headgate.breaker_flips (at);

-- Logged: after a crash no more than the last moments may be forgotten. Times are integer microseconds of the database's clock.
create table headgate.rate_limits (
    key text primary key,
    requests int not null,
    per_seconds int not null,
    emission_us bigint not null,
    -- When the next slot is free.
    tat_us bigint not null default 0,
    quiet_until_us bigint not null default 0,
    -- The rest is shown to people and decides nothing. Slots given in the window that began then, and in the one before.
    window_started_us bigint not null default 0,
    used int not null default 0,
    used_before int not null default 0,
    -- Slots in the minute of the last slot given, and in the last minute before it in which any was given: by the time of the slot, not of its
    -- reservation. The leader copies both into `rate_limit_use` before a third minute begins.
    minute bigint not null default 0,
    minute_given int not null default 0,
    minute_before bigint not null default 0,
    minute_before_given int not null default 0,
    constraint rate_limits_requests_range check (requests between 1 and 1000000),
    constraint rate_limits_per_seconds_range check (per_seconds between 1 and 86400)
) with (fillfactor = 50);
comment on table headgate.rate_limits is 'GCRA as a scheduler: one row for each thing that is limited.';

-- Reserves up to `wanted` send times that keep to all of the limits together: slots of one limit are never nearer to each other than its
-- emission, and none lies further ahead than `horizon_us`. Fewer than wanted, or none, means that the limits are used up; `next_free_us`
-- tells when to ask again. Rows are locked in the order of their keys, so that two callers never wait for each other.
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
            slot := greatest(slot, limits[i].tat_us, limits[i].quiet_until_us);
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
            if slot / 60000000 > limits[i].minute then
                limits[i].minute_before := limits[i].minute;
                limits[i].minute_before_given := limits[i].minute_given;
                limits[i].minute := slot / 60000000;
                limits[i].minute_given := 0;
            end if;
            limits[i].minute_given := limits[i].minute_given + 1;
        end loop;
    end loop;
    if array_length(given, 1) > 0 then
        update headgate.rate_limits r
        set tat_us = x.tat_us, window_started_us = x.window_started_us, used = x.used, used_before = x.used_before,
            minute = x.minute, minute_given = x.minute_given, minute_before = x.minute_before, minute_before_given = x.minute_before_given
        from unnest(limits) x
        where r.key = x.key;
    end if;
    return query select given, now_at, slot;
end;
$$;

-- How many slots each limit gives within half a second.
create view headgate.claimable_slots as
select x.key, case
    when greatest(x.tat_us, x.quiet_until_us) > c.now_us + 500000 then 0
    else (c.now_us + 500000 - greatest(x.tat_us, x.quiet_until_us, c.now_us)) / x.emission_us + 1
end as slots
from headgate.rate_limits x, (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now_us) c;

-- How much of a limit is used, for people: the slots of the current window, or those of the one before while the current one has just begun
-- or when nothing was sent since.
create function headgate.slots_used(asked headgate.rate_limits) returns int
language sql volatile
as $$
    select least(asked.requests, case
        when c.now_us < asked.window_started_us + c.window_us / 4 then greatest(asked.used, asked.used_before)
        when c.now_us < asked.window_started_us + 2 * c.window_us then asked.used
        else 0
    end)
    from (
        select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now_us, asked.per_seconds * 1000000::bigint as window_us
    ) c;
$$;
