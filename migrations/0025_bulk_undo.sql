-- Bulk actions that can be taken back, and what people see of them before and after: what was counted, why rows were skipped. Older
-- processes run on this schema: they go on with what is requeued, cancelled and purged, and remember nothing of it.

-- Dead letters as they were when somebody purged or requeued them, for 24 hours. The row is kept whole: whatever columns the table of dead
-- letters has, it comes back as it was.
create table headgate.bin (
    -- The dead letter's own.
    id uuid primary key,
    job_id uuid not null,
    app_id uuid not null,
    integration_id uuid not null,
    -- The bulk action that put it here; none: a button of its own.
    operation_id uuid,
    was text not null,
    -- The same for all of one portion, so that they lie as they lay: the newest letter first.
    binned_at timestamptz not null default now(),
    letter jsonb not null,
    constraint bin_was_known check (was in ('purged', 'requeued'))
);
create unique index bin_by_operation on headgate.bin (operation_id, job_id) where operation_id is not null;
-- The bin's page: what was purged, newest first.
create index bin_purged on headgate.bin (binned_at, id) where was = 'purged';
create index bin_purged_by_app on headgate.bin (app_id, binned_at, id) where was = 'purged';
create index bin_by_integration on headgate.bin (integration_id);
create index bin_by_age on headgate.bin (binned_at);

-- Where the jobs stood that a bulk action cancelled or requeued, for 24 hours.
create table headgate.operation_jobs (
    operation_id uuid not null,
    job_id uuid not null,
    -- As in `jobs`, or 4: it was cancelled.
    status smallint not null,
    attempt smallint not null default 0,
    lost_leases smallint not null default 0,
    folded int not null default 0,
    run_at timestamptz,
    retry_at timestamptz,
    error_kind text,
    error_message text,
    kept_at timestamptz not null default clock_timestamp(),
    primary key (operation_id, job_id)
);
create index operation_jobs_by_age on headgate.operation_jobs (kept_at);

alter table headgate.operations
    -- Counted when it was asked for: by integration and status.
    add column breakdown jsonb not null default '[]',
    add column sample jsonb not null default '[]',
    -- How many were left as they were, by reason.
    add column skipped_reasons jsonb not null default '{}',
    -- The one it takes back.
    add column undoes uuid;
alter table headgate.operations drop constraint operations_action_known;
alter table headgate.operations
    add constraint operations_action_known check (action in ('requeue', 'cancel', 'purge', 'undo')),
    add constraint operations_undo_of_something check ((action = 'undo') = (undoes is not null));
-- Nothing is taken back twice.
create unique index operations_undoes_key on headgate.operations (undoes) where undoes is not null;
create index operations_by_app on headgate.operations (app_id, id) where app_id is not null;
