-- The catalog that Headgate owns a copy of, and what each integration last accepted of it.
--
-- `records`, `sent_records` and `uncertain_records` have no foreign keys. Whoever writes them holds the app or the integration against its deletion
-- (`for key share`), once for all rows of a batch; a foreign key asked for the same again for each row, 20 us each, a third of what recording a
-- delivery cost. What foreign keys would do when an app or an integration is deleted, triggers do (below).

-- A row changes with each event here and with each delivery in `sent_records`. Autovacuum's default (a fifth of the table dead) is too late for
-- tables of millions, and the engine's own vacuum is not for them: their indexes make a pass expensive.
create table headgate.records (
    app_id uuid not null,
    record_type text not null,
    record_id text not null,
    version bigint not null default 1,
    attributes jsonb not null,
    -- When what it holds occurred at its source, as far as events said (catalog/times.rs); null: none did.
    occurred jsonb,
    -- Length of the attributes as JSON text: what a request may read at once is bounded by it.
    attribute_bytes int not null,
    -- A deleted record stays as a tombstone until every integration has been told.
    deleted_at timestamptz,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    primary key (app_id, record_type, record_id),
    constraint records_type_length check (char_length(record_type) between 1 and 255),
    constraint records_id_length check (char_length(record_id) between 1 and 255)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
comment on table headgate.records is 'The catalog: every record of every app, merged from its events.';
-- Retention forgets deleted records by their age, and looks at no others.
create index records_deleted on headgate.records (deleted_at, app_id, record_type, record_id) where deleted_at is not null;

-- As far as the external system answered 2xx. A deletion that it accepted leaves no row.
create table headgate.sent_records (
    integration_id uuid not null,
    record_type text not null,
    record_id text not null,
    version bigint not null,
    attributes jsonb not null,
    sent_at timestamptz not null default clock_timestamp(),
    primary key (integration_id, record_type, record_id)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
comment on table headgate.sent_records is 'What each external system has of each record.';

-- No answer came, the connection broke, or the answer was 5xx. Without this a record that changes back to what was last accepted would look as
-- if there were nothing to tell. Gone with the next accepted request.
create table headgate.uncertain_records (
    integration_id uuid not null,
    record_type text not null,
    record_id text not null,
    -- The attributes told; null: all of them, or a deletion.
    attributes text[],
    primary key (integration_id, record_type, record_id)
) with (fillfactor = 80);
comment on table headgate.uncertain_records is 'What an external system may have taken in although it never said so.';

create table headgate.record_counts (
    app_id uuid not null,
    record_type text not null,
    n bigint not null,
    primary key (app_id, record_type)
) with (fillfactor = 50);
comment on table headgate.record_counts is 'How many records there are, without counting them.';
create table headgate.record_count_deltas (
    app_id uuid not null,
    record_type text not null,
    n int not null
);
comment on table headgate.record_count_deltas is 'Changes of record_counts that the leader has not folded in yet.';

-- The pairs of app and type that there are records of.
create view headgate.record_kinds as
    select app_id, record_type from headgate.record_counts
    union
    select app_id, record_type from headgate.record_count_deltas;

-- Kept by whoever changes a record or records what was accepted: comparing versions at each question took 51 ms for 100,000 records.
create table headgate.in_sync_counts (
    integration_id uuid not null,
    record_type text not null,
    n bigint not null,
    primary key (integration_id, record_type)
) with (fillfactor = 50);
comment on table headgate.in_sync_counts is 'How many records each integration has in their current version, without counting them.';
create table headgate.in_sync_count_deltas (
    integration_id uuid not null,
    record_type text not null,
    n int not null
);
comment on table headgate.in_sync_count_deltas is 'Changes of in_sync_counts that the leader has not folded in yet.';

-- No reference to the app, which would be looked up for each event: the rows go by their age.
create table headgate.event_ids (
    app_id uuid not null,
    id text not null,
    accepted_at timestamptz not null default clock_timestamp(),
    primary key (app_id, id)
);
comment on table headgate.event_ids is 'Ids of events that were accepted, for as long as an id makes its event idempotent.';
-- Retention.
create index event_ids_by_age on headgate.event_ids (accepted_at);

create table headgate.resyncs (
    id uuid primary key,
    app_id uuid not null references headgate.apps (id) on delete cascade,
    integration_id uuid not null references headgate.integrations (id) on delete cascade,
    batch_id uuid not null references headgate.batches (id) on delete cascade,
    -- Null: all of the integration's types. record_ids only together with a type.
    record_type text,
    record_ids text[],
    mode text not null,
    state text not null default 'running',
    -- How far the catalog was read: jobs are made in portions, by the leader.
    cursor_type text,
    cursor_id text,
    is_enumerated boolean not null default false,
    -- Cancelled, and waiting jobs of it are still to be called off.
    is_cancelling boolean not null default false,
    requested_by text not null,
    created_at timestamptz not null default clock_timestamp(),
    started_at timestamptz,
    finished_at timestamptz,
    constraint resyncs_mode_known check (mode in ('full', 'changed')),
    constraint resyncs_state_known check (state in ('running', 'paused', 'completed', 'cancelled')),
    constraint resyncs_end_has_time check ((state in ('completed', 'cancelled')) = (finished_at is not null))
);
comment on table headgate.resyncs is 'Re-syncs: an integration is sent its catalog, or a part of it, again.';
create index resyncs_by_integration on headgate.resyncs (integration_id, id);
create unique index resyncs_batch_key on headgate.resyncs (batch_id);
create index resyncs_by_app on headgate.resyncs (app_id, id);
create index resyncs_unfinished on headgate.resyncs (id) where finished_at is null or is_cancelling;

create table headgate.deletions (
    -- As people follow it: an operation.
    id uuid primary key,
    app_id uuid not null,
    -- Null: the app itself, with all its integrations.
    integration_id uuid,
    -- Whose rows go.
    integration_ids uuid[] not null,
    name text not null,
    requested_by text not null,
    -- About how many rows, by the counters.
    matched bigint not null,
    deleted bigint not null default 0,
    created_at timestamptz not null default clock_timestamp(),
    finished_at timestamptz
);
comment on table headgate.deletions is 'Apps and integrations that were deleted; what is left of them, maybe millions of rows, goes in portions.';
create index deletions_unfinished on headgate.deletions (id) where finished_at is null;

-- What has a row in `deletions` goes in portions. What somebody deletes by hand goes at once, as with a foreign key.
create function headgate.forget_catalog() returns trigger
language plpgsql
as $$
begin
    if not exists (
        select from headgate.deletions where finished_at is null and integration_id is null and app_id = old.id
    ) then
        delete from headgate.records where app_id = old.id;
    end if;
    return null;
end;
$$;
create trigger apps_forget_catalog after delete on headgate.apps for each row execute function headgate.forget_catalog();
create function headgate.forget_sent() returns trigger
language plpgsql
as $$
begin
    if not exists (select from headgate.deletions where finished_at is null and old.id = any (integration_ids)) then
        delete from headgate.sent_records where integration_id = old.id;
        delete from headgate.uncertain_records where integration_id = old.id;
    end if;
    -- In the order in which a fold locks.
    delete from headgate.in_sync_count_deltas where integration_id = old.id;
    delete from headgate.in_sync_counts where integration_id = old.id;
    return null;
end;
$$;
create trigger integrations_forget_sent after delete on headgate.integrations for each row execute function headgate.forget_sent();
