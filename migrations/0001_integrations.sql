-- Tenants and their connections to external systems. First release: no older worker exists.

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
create unique index apps_slug_key on headgate.apps (slug);

create table headgate.integrations (
    id uuid primary key,
    app_id uuid not null references headgate.apps (id) on delete cascade,
    name text not null,
    integration_type text not null,
    -- The external integration every app has from the start: jobs that name no integration run there.
    is_built_in boolean not null default false,
    endpoint_url text,
    state text not null default 'active',
    state_reason text,
    -- null: whatever the process defaults say.
    timeout_ms int,
    max_attempts smallint,
    max_concurrency int not null default 50,
    -- null: every record type.
    record_types text[],
    -- Limits in the order they were given: [{"requests": n, "per_seconds": n}].
    rate_limits jsonb not null default '[]',
    rate_limit_key text,
    -- Bundles alone have one: changes are gathered until the next multiple of it.
    bundle_window_seconds int,
    headers jsonb not null default '{}',
    metadata jsonb not null default '{}',
    -- Sealed with the master key; the table, the row id and the column are the associated data.
    signing_secret_sealed bytea not null,
    previous_secret_sealed bytea,
    previous_secret_until timestamptz,
    credentials_sealed bytea,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    constraint integrations_name_length check (char_length(name) between 1 and 200),
    constraint integrations_type_known check (integration_type in ('webhook', 'rest', 'bundle', 'external')),
    constraint integrations_state_known check (state in ('active', 'paused', 'disabled')),
    constraint integrations_endpoint_present check ((integration_type = 'external') = (endpoint_url is null)),
    constraint integrations_bundle_window_present check ((integration_type = 'bundle') = (bundle_window_seconds is not null)),
    constraint integrations_bundle_window_range check (bundle_window_seconds between 1 and 86400),
    constraint integrations_timeout_range check (timeout_ms between 100 and 3600000),
    constraint integrations_max_attempts_range check (max_attempts between 1 and 100),
    constraint integrations_max_concurrency_range check (max_concurrency between 1 and 10000)
);
create index integrations_by_app on headgate.integrations (app_id, id);
create unique index integrations_built_in_key on headgate.integrations (app_id) where is_built_in;

-- When the current window of a bundle ends: the next multiple of its length, for every integration alike. Null without a window.
create function headgate.window_ends_at(window_seconds int) returns timestamptz
language sql volatile
as $$
    select to_timestamp((floor(extract(epoch from clock_timestamp()) / window_seconds) + 1) * window_seconds)
$$;

-- What the claim reads of an integration: narrow, so that thousands of idle ones cost nothing. Written together with
-- `integrations`, in the same transaction.
create table headgate.lanes (
    integration_id uuid primary key references headgate.integrations (id) on delete cascade,
    app_id uuid not null,
    is_external boolean not null,
    is_open boolean not null default true,
    max_concurrency int not null,
    -- Jobs one request tells of at most: more than one for bundles. Such jobs are claimed for one request at a time.
    jobs_per_request int not null default 1,
    -- Rows of rate_limits that every request of this lane must pass.
    limit_keys text[] not null default '{}',
    -- The external system asked for quiet until then (429 with Retry-After).
    held_until timestamptz,
    last_claimed_at timestamptz,
    constraint lanes_jobs_per_request_range check (jobs_per_request >= 1)
) with (fillfactor = 50);

-- GCRA as a scheduler: one row per limited thing; `tat_us` is when the next slot is free. Unlogged would be wrong: a crash must
-- not forget more than the last moments. Integer microseconds of the database's clock.
create table headgate.rate_limits (
    key text primary key,
    requests int not null,
    per_seconds int not null,
    emission_us bigint not null,
    tat_us bigint not null default 0,
    hold_until_us bigint not null default 0,
    -- For people to look at, never for a decision: slots given in the window that began then.
    window_started_us bigint not null default 0,
    used int not null default 0,
    used_before int not null default 0,
    constraint rate_limits_requests_range check (requests between 1 and 1000000),
    constraint rate_limits_per_seconds_range check (per_seconds between 1 and 86400)
) with (fillfactor = 50);
