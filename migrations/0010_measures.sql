-- Measures of the queue for people and machines: how long attempts and waits take, whether the counters were proven, sums since the
-- beginning. Nothing here decides anything. Older workers run on this schema: new columns have defaults, new tables they do not know.

-- Counts per bucket of model::histogram, added bucket by bucket; the shorter one is as if it went on with noughts.
create function headgate.add_counts(a bigint[], b bigint[]) returns bigint[]
language sql immutable parallel safe
as $$
    select coalesce(array_agg(coalesce(x, 0) + coalesce(y, 0) order by i), '{}')
    from unnest(a, b) with ordinality u (x, y, i)
$$;
create aggregate headgate.sum_counts(bigint[]) (sfunc = headgate.add_counts, stype = bigint[], initcond = '{}');

-- Of attempts that came to an end, and of the waits before them (from claimable to started). Mostly noughts: kept compressed.
alter table headgate.throughput
    add column latency bigint[] not null default '{}',
    add column wait bigint[] not null default '{}',
    alter column latency set storage main,
    alter column wait set storage main,
    set (toast_tuple_target = 128);

-- What each process appends once a second, folded by the leader into `throughput`: a row per integration that had ends.
create table headgate.latency_deltas (
    integration_id uuid not null,
    at timestamptz not null default clock_timestamp(),
    latency bigint[] not null,
    wait bigint[] not null,
    latency_us bigint not null,
    wait_us bigint not null
);

-- Sums since the beginning, of the whole deployment: what `/metrics` shows as counters, whichever process is asked and restarts or not.
-- Written by the folds, in the same statement.
create table headgate.totals (
    is_only boolean primary key default true,
    completed bigint not null default 0,
    unchanged bigint not null default 0,
    retried bigint not null default 0,
    dead bigint not null default 0,
    cancelled bigint not null default 0,
    limited bigint not null default 0,
    latency_us bigint not null default 0,
    wait_us bigint not null default 0,
    latency bigint[] not null default '{}',
    wait bigint[] not null default '{}',
    constraint totals_is_only_row check (is_only)
) with (fillfactor = 50);
insert into headgate.totals default values;

-- The proof of the counters: how far the round under way has come, and what the last whole one found.
create table headgate.recounts (
    is_only boolean primary key default true,
    -- Integrations (and then apps, for records) up to this one are done; null at the beginning of each.
    cursor uuid,
    is_at_records boolean not null default false,
    began_at timestamptz,
    proven int not null default 0,
    unproven int not null default 0,
    drift bigint not null default 0,
    finished_at timestamptz,
    last_proven int not null default 0,
    last_unproven int not null default 0,
    last_drift bigint not null default 0,
    -- Jobs and records by which counters were put right, ever.
    repaired bigint not null default 0,
    constraint recounts_is_only_row check (is_only)
) with (fillfactor = 50);
insert into headgate.recounts default values;

-- Rows that no longer belonged to anything and were taken away, ever, by what they were.
create table headgate.tidied (
    what text primary key,
    n bigint not null
);

-- What the sampler measures besides the gauges that browsers get: for /metrics and /readyz.
alter table headgate.live_snapshots add column measures jsonb;

-- A row per record and delivery changes here. The default (a fifth of the table dead) is too late for tables of millions, and the engine's
-- own vacuum is not for them: their indexes make a pass dear.
alter table headgate.records set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
alter table headgate.sent_records set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
