-- Apps and integrations that were deleted, and what is still left of them: their own rows go at once, the rest, which may be millions of rows, goes
-- in portions. A process of the version before leaves no note here: what it deletes goes in its own statement, as before.
create table headgate.deletions (
    -- As people follow it: an operation.
    id uuid primary key,
    app_id uuid not null,
    -- None: the app itself, with all its integrations.
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
create index deletions_unfinished on headgate.deletions (id) where finished_at is null;

-- Deleting an integration looks for its batches.
create index batches_by_integration on headgate.batches (integration_id) where integration_id is not null;

-- Whoever writes it holds the integration against its deletion, as with `sent_records` (0033).
alter table headgate.unsure_records drop constraint unsure_records_integration_id_fkey;

create or replace function headgate.forget_catalog() returns trigger
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
create or replace function headgate.forget_sent() returns trigger
language plpgsql
as $$
begin
    if not exists (select from headgate.deletions where finished_at is null and old.id = any (integration_ids)) then
        delete from headgate.sent_records where integration_id = old.id;
        delete from headgate.unsure_records where integration_id = old.id;
    end if;
    -- In the order in which a fold locks.
    delete from headgate.in_sync_count_deltas where integration_id = old.id;
    delete from headgate.in_sync_counts where integration_id = old.id;
    return null;
end;
$$;
