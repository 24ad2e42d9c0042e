-- What people and machines are told of the deployment, now and over time. Nothing here decides anything.
--
-- Who does something appends deltas, and the leader folds them: no hot rows.

-- Counts per bucket of model::histogram, added bucket by bucket; the shorter array goes on with zeros.
create function headgate.add_counts(a bigint[], b bigint[]) returns bigint[]
language sql immutable parallel safe
as $$
    select coalesce(array_agg(coalesce(x, 0) + coalesce(y, 0) order by i), '{}')
    from unnest(a, b) with ordinality u (x, y, i)
$$;
create aggregate headgate.sum_counts(bigint[]) (sfunc = headgate.add_counts, stype = bigint[], initcond = '{}');

create table headgate.throughput_deltas (
    integration_id uuid not null,
    at timestamptz not null default clock_timestamp(),
    completed int not null default 0,
    unchanged int not null default 0,
    retried int not null default 0,
    dead int not null default 0,
    cancelled int not null default 0,
    limited int not null default 0,
    -- In the totals only.
    lost int not null default 0,
    duration_ms bigint not null default 0
);
comment on table headgate.throughput_deltas is 'What the finishing statements append; folded into throughput.';
create table headgate.throughput (
    -- The nil id: all integrations together, so that the chart of a deployment of thousands reads as few rows as that of one integration.
    integration_id uuid not null,
    -- 10 (kept an hour), 60 (a day), 900 (of all together), 3600 (90 days).
    step_seconds int not null,
    bucket_at timestamptz not null,
    completed bigint not null default 0,
    unchanged bigint not null default 0,
    retried bigint not null default 0,
    dead bigint not null default 0,
    cancelled bigint not null default 0,
    limited bigint not null default 0,
    duration_ms bigint not null default 0,
    -- How long attempts took, and the waits before them (from claimable to started), by bucket.
    latency bigint[] not null default '{}',
    wait bigint[] not null default '{}',
    primary key (step_seconds, bucket_at, integration_id)
) with (fillfactor = 70, toast_tuple_target = 128);
comment on table headgate.throughput is 'What was done, by integration and step of time.';
-- Mostly zeros: kept compressed, in the row.
alter table headgate.throughput alter column latency set storage main, alter column wait set storage main;
create index throughput_by_integration on headgate.throughput (integration_id, step_seconds, bucket_at);

create table headgate.latency_deltas (
    integration_id uuid not null,
    at timestamptz not null default clock_timestamp(),
    latency bigint[] not null,
    wait bigint[] not null,
    latency_us bigint not null,
    wait_us bigint not null,
    -- HTTP statuses (0: no answer came) and how many of each.
    statuses smallint[] not null,
    status_counts int[] not null
);
comment on table headgate.latency_deltas is 'What each process appends once a second, a row for each integration that had ends; folded into throughput and answers.';

create table headgate.answers (
    integration_id uuid not null,
    -- 60 (kept a day), 3600 (90 days).
    step_seconds int not null,
    bucket_at timestamptz not null,
    status smallint not null,
    n bigint not null,
    primary key (integration_id, step_seconds, bucket_at, status)
) with (fillfactor = 70);
comment on table headgate.answers is 'Answers of external systems by HTTP status. Requests, not jobs: a bundle''s counts once.';
-- Retention.
create index answers_by_age on headgate.answers (step_seconds, bucket_at);
-- The wall of limits asks for these of many integrations at once.
create index answers_refused on headgate.answers (integration_id, step_seconds, bucket_at) where status = 429;

create table headgate.rate_limit_use (
    key text not null,
    step_seconds int not null,
    bucket_at timestamptz not null,
    given bigint not null,
    -- What was allowed: what the limit said when the row was last written.
    requests int not null,
    per_seconds int not null,
    primary key (step_seconds, key, bucket_at)
) with (fillfactor = 70);
comment on table headgate.rate_limit_use is 'Slots given, by limit: steps of 60 and of 900 seconds, kept a day.';
-- Retention.
create index rate_limit_use_by_age on headgate.rate_limit_use (step_seconds, bucket_at);

-- Written by the folds, in the same statement: `/metrics` shows the same counters whichever process is asked, and whether or not it restarted.
create table headgate.totals (
    is_only boolean primary key default true,
    completed bigint not null default 0,
    unchanged bigint not null default 0,
    retried bigint not null default 0,
    dead bigint not null default 0,
    cancelled bigint not null default 0,
    limited bigint not null default 0,
    lost bigint not null default 0,
    latency_us bigint not null default 0,
    wait_us bigint not null default 0,
    latency bigint[] not null default '{}',
    wait bigint[] not null default '{}',
    constraint totals_is_only_row check (is_only)
) with (fillfactor = 50);
comment on table headgate.totals is 'Sums since the beginning, of the whole deployment.';
insert into headgate.totals default values;

create table headgate.integration_marks (
    integration_id uuid primary key references headgate.integrations (id) on delete cascade,
    last_success_at timestamptz,
    error_job_id uuid,
    error_at timestamptz,
    error_kind text,
    error_message text,
    error_status smallint
) with (fillfactor = 50);
comment on table headgate.integration_marks is 'Last success (folded by the leader) and last error (by the finishing statement) of each integration.';

create table headgate.live_snapshots (
    at timestamptz primary key,
    body jsonb not null,
    -- What the sampler measures besides the gauges that browsers get: for /metrics and /readyz.
    measures jsonb
);
comment on table headgate.live_snapshots is 'One row a second, read by every process: any number of browsers costs the database what one costs.';

-- Small, and alone in their table, so that a chart reads no gauges.
create table headgate.total_minutes (
    -- The minute's beginning.
    at timestamptz primary key,
    sampled_at timestamptz not null,
    backlog bigint not null,
    processing bigint not null,
    to_be_retried bigint not null,
    dead_letters bigint not null,
    delivered_per_minute bigint not null,
    failed_per_minute bigint not null,
    oldest_pending_age_seconds bigint,
    workers bigint not null,
    -- By attempts made.
    retry_pyramid bigint[] not null
);
comment on table headgate.total_minutes is 'Sums over all integrations minute by minute, kept 8 days; a missing minute is a gap.';

-- One row in an hour is whole; the others say what differs from it (store/stats/minutes/body.rs), so that 5,000 integrations of which few work
-- cost what those few cost.
create table headgate.gauge_minutes (
    at timestamptz primary key,
    -- The minute whose row is whole: this one, or one of the hour before.
    whole_at timestamptz not null,
    -- JSON, deflated: most of it repeats, and below 2 kB Postgres would compress nothing.
    body bytea not null
);
comment on table headgate.gauge_minutes is 'Every gauge minute by minute, kept 26 hours.';
alter table headgate.gauge_minutes alter column body set storage external;

create table headgate.system_events (
    -- Version 7: the order of ids is that of time.
    id uuid primary key,
    at timestamptz not null default clock_timestamp(),
    kind text not null,
    -- pause: which integration, and why.
    app_id uuid,
    integration_id uuid references headgate.integrations (id) on delete cascade,
    reason text,
    -- start, version: which process, of what.
    worker_id uuid,
    host text,
    program text,
    version text,
    -- alert, calm: the saved view whose threshold was reached, or no longer is.
    name text,
    constraint system_events_kind_known check (kind in ('start', 'version', 'pause', 'alert', 'calm'))
);
comment on table headgate.system_events is 'What happened that nobody did, kept 30 days. With breaker flips and the audit log it is the feed of activity.';
create index system_events_by_integration on headgate.system_events (integration_id, id) where integration_id is not null;
-- Whether a version runs for the first time.
create index system_events_by_version on headgate.system_events (program, version) where kind = 'version';

create table headgate.recounts (
    is_only boolean primary key default true,
    -- The counters that are being proven, by the name of `queue::maintenance::Counters`; null: those of jobs, which come first.
    stage text,
    -- Integrations, apps or causes of failures up to this one are done; null at the beginning.
    cursor uuid,
    began_at timestamptz,
    proven int not null default 0,
    unproven int not null default 0,
    drift bigint not null default 0,
    finished_at timestamptz,
    last_proven int not null default 0,
    last_unproven int not null default 0,
    last_drift bigint not null default 0,
    -- By how many jobs and records counters were put right, ever.
    repaired bigint not null default 0,
    constraint recounts_is_only_row check (is_only)
) with (fillfactor = 50);
comment on table headgate.recounts is 'The proof of the counters: how far the current round is, and what the last whole one found.';
insert into headgate.recounts default values;

create table headgate.tidied (
    what text primary key,
    n bigint not null
);
comment on table headgate.tidied is 'How many rows that belonged to nothing were taken away, ever, by what they were.';
