-- How much of each rate limit was used, minute by minute, and what external systems answered. For people to look at, never for a decision.
-- Older workers run on this schema too: new columns have defaults, the function keeps its form, tables are new.

-- Slots of the minute of the last slot given, and of the minute before that in which any was. By the time of the slot, not of its reservation:
-- exact however the processes' reservations lie. The leader copies both into `rate_limit_use` before a third minute begins.
alter table headgate.rate_limits
    add column minute bigint not null default 0,
    add column minute_given int not null default 0,
    add column minute_before bigint not null default 0,
    add column minute_before_given int not null default 0;

-- As in migration 0003, with the minutes counted.
create or replace function headgate.reserve_slots(limit_keys text[], wanted int, horizon_us bigint)
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

-- Slots given, by limit: steps of 60 s and of 900 s, kept a day. What was allowed is what the limit said when the row was last written.
create table headgate.rate_limit_use (
    key text not null,
    step_seconds int not null,
    bucket_at timestamptz not null,
    given bigint not null,
    requests int not null,
    per_seconds int not null,
    primary key (step_seconds, key, bucket_at)
) with (fillfactor = 70);
create index rate_limit_use_by_age on headgate.rate_limit_use (step_seconds, bucket_at);

-- What each process gathered of answers in a second, beside how long they took: HTTP status (0: no answer came) and how many.
alter table headgate.latency_deltas
    add column statuses smallint[] not null default '{}',
    add column status_counts int[] not null default '{}';

-- Answers by integration and status: steps of 60 s (kept a day) and of 3600 s (90 days). Requests, not jobs: a bundle's counts once.
create table headgate.answers (
    integration_id uuid not null,
    step_seconds int not null,
    bucket_at timestamptz not null,
    status smallint not null,
    n bigint not null,
    primary key (integration_id, step_seconds, bucket_at, status)
) with (fillfactor = 70);
create index answers_by_age on headgate.answers (step_seconds, bucket_at);
-- The wall of limits asks for these of many integrations at once.
create index answers_refused on headgate.answers (integration_id, step_seconds, bucket_at) where status = 429;
