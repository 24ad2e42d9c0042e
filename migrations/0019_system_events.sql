-- What happened that nobody did: processes that started, versions that ran for the first time, integrations that the engine paused. With breaker
-- flips and the audit log it is the feed of what happened. Older workers run on this schema: they say nothing of it.

-- Kept 30 days, like the flips.
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
    constraint system_events_kind_known check (kind in ('start', 'version', 'pause'))
);
create index system_events_by_integration on headgate.system_events (integration_id, id) where integration_id is not null;
create index system_events_by_version on headgate.system_events (program, version) where kind = 'version';

-- The lines of the audit log that belong into the feed: what changed how the deployment works. Single jobs, sign-ins and keys do not.
create index audit_log_notable on headgate.audit_log (id)
where (object_kind in ('app', 'integration', 'worker', 'operation', 'resync', 'rate_limit', 'failure') or action like '%.bulk\_%')
    and action not in ('integration.breaker', 'integration.test');
