-- What the processes of one deployment share: workers and their leases, the leader, live snapshots and rollups, bulk actions.
-- First release: no older worker exists.

-- One row per process start. A processing job whose worker has no live row here is lost.
create table headgate.workers (
    id uuid primary key,
    host text not null,
    pid int not null,
    version text not null,
    slots int not null,
    busy int not null default 0,
    is_draining boolean not null default false,
    started_at timestamptz not null default clock_timestamp(),
    heartbeat_at timestamptz not null default clock_timestamp(),
    lease_until timestamptz not null
) with (fillfactor = 50);

-- The leader's lease on the database's clock; the term is tested in every maintenance write.
create table headgate.leader (
    is_only boolean primary key default true,
    holder uuid not null,
    term bigint not null,
    expires_at timestamptz not null,
    constraint leader_is_only_row check (is_only)
) with (fillfactor = 50);

-- Whether this holder's term still holds. Every maintenance write asks `where (select headgate.is_leader(…))`: evaluated once per
-- statement, so that a process that was stopped and woke up after another took over writes nothing.
create function headgate.is_leader(asked_holder uuid, asked_term bigint) returns boolean
language sql volatile
as $$
    select exists (
        select 1 from headgate.leader
        where holder = asked_holder and term = asked_term and expires_at > clock_timestamp()
    );
$$;

-- How much of a limit is used, for people to look at: the slots of the current window, or of the one before while the current has
-- just begun or when nothing was sent since.
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

-- Makes the partition of one day (UTC) unless it is there; answers whether it did. Made apart and then attached: that takes no lock
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

-- One row a second, read by every server process: N browsers cost the database what one costs.
create table headgate.live_snapshots (
    at timestamptz primary key,
    body jsonb not null
);

-- What the finishing statements append, folded by the leader into the rollups.
create table headgate.throughput_deltas (
    integration_id uuid not null,
    at timestamptz not null default clock_timestamp(),
    completed int not null default 0,
    unchanged int not null default 0,
    retried int not null default 0,
    dead int not null default 0,
    cancelled int not null default 0,
    limited int not null default 0,
    duration_ms bigint not null default 0
);
-- step_seconds: 10 (kept an hour), 60 (a day), 3600 (90 days)
create table headgate.throughput (
    integration_id uuid not null,
    step_seconds int not null,
    bucket_at timestamptz not null,
    completed bigint not null default 0,
    unchanged bigint not null default 0,
    retried bigint not null default 0,
    dead bigint not null default 0,
    cancelled bigint not null default 0,
    limited bigint not null default 0,
    duration_ms bigint not null default 0,
    primary key (step_seconds, bucket_at, integration_id)
) with (fillfactor = 70);
create index throughput_by_integration on headgate.throughput (integration_id, step_seconds, bucket_at);

-- The last success (folded from throughput_deltas by the leader) and the last error (written by the finishing statement) of each
-- integration, for the pages that show them first.
create table headgate.integration_marks (
    integration_id uuid primary key references headgate.integrations (id) on delete cascade,
    last_success_at timestamptz,
    error_job_id uuid,
    error_at timestamptz,
    error_kind text,
    error_message text,
    error_status smallint
) with (fillfactor = 50);

create table headgate.operations (
    id uuid primary key,
    -- requeue, cancel (of jobs); requeue, purge (of dead letters)
    subject text not null,
    action text not null,
    filter jsonb not null,
    -- Named one by one instead of by a filter.
    ids uuid[],
    reason text,
    requested_by text not null,
    app_id uuid,
    state text not null,
    hold_until timestamptz,
    rate_per_second int,
    matched bigint not null,
    changed bigint not null default 0,
    skipped bigint not null default 0,
    -- Ids at or below this one were there when the action was asked for; later ones are not touched.
    upper_id uuid not null,
    cursor_id uuid,
    -- With a chosen rate: no further chunk before then.
    paced_until timestamptz,
    error_message text,
    created_at timestamptz not null default clock_timestamp(),
    started_at timestamptz,
    finished_at timestamptz,
    constraint operations_subject_known check (subject in ('jobs', 'dead_letters')),
    constraint operations_action_known check (action in ('requeue', 'cancel', 'purge')),
    constraint operations_state_known check (state in ('held', 'running', 'paused', 'done', 'aborted', 'undone'))
);
create index operations_unfinished on headgate.operations (id) where finished_at is null;

create table headgate.idempotency_keys (
    -- Who asked (key or user id), so that one tenant's keys never meet another's.
    owner text not null,
    method text not null,
    path text not null,
    key text not null,
    body_hash bytea not null,
    status smallint,
    answer bytea,
    created_at timestamptz not null default clock_timestamp(),
    primary key (owner, method, path, key)
);
create index idempotency_keys_by_age on headgate.idempotency_keys (created_at);
