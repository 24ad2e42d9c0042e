-- The circuit breaker of each integration (model::rules::breaker). What the claim heeds of it is one number, lanes.breaker_cap (0007), written
-- in the same transactions. Older workers run on this schema too: they keep to the number and report nothing.

-- One row per integration that ever failed or was steered; none: closed, and nothing is known against it.
create table headgate.breakers (
    integration_id uuid primary key references headgate.integrations (id) on delete cascade,
    -- When it came into its state; null: it never opened.
    since timestamptz,
    probe_at timestamptz,
    held_until timestamptz,
    step_at timestamptz,
    failed_at timestamptz,
    -- The half minute that runs, and the one before it: what the failure rate is judged by.
    recent_since timestamptz,
    recent_attempts int not null default 0,
    recent_failures int not null default 0,
    recent_attempts_before int not null default 0,
    recent_failures_before int not null default 0,
    failures_in_a_row int not null default 0,
    times_opened int not null default 0,
    successes int not null default 0,
    failures int not null default 0,
    -- As in lanes.breaker_cap.
    at_once int,
    -- Not closed, or something failed lately: every process reads these once a second, so that those alone whose jobs meet one of them
    -- have to write anything about it.
    is_watched boolean not null default false,
    state text not null default 'closed',
    reason text,
    constraint breakers_state_known check (state in ('closed', 'open', 'half_open', 'ramping')),
    constraint breakers_open_has_end check ((state = 'open') = (probe_at is not null)),
    constraint breakers_cap_fits check ((state = 'closed') = (at_once is null)),
    constraint breakers_change_has_time check (state = 'closed' or since is not null)
) with (fillfactor = 50);
create index breakers_watched on headgate.breakers (integration_id) where is_watched;

-- What a claim asks of the lanes it took jobs of: the few that are not closed.
create index lanes_not_closed on headgate.lanes (integration_id) where breaker_cap is not null;

-- Every change of a breaker's state, kept 30 days.
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
create index breaker_flips_by_integration on headgate.breaker_flips (integration_id, id);
create index breaker_flips_by_age on headgate.breaker_flips (at);
