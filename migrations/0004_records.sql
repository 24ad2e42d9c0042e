-- The catalog Headgate owns a copy of, and what each integration last accepted of it. First release: no older worker exists.

create table headgate.records (
    app_id uuid not null references headgate.apps (id) on delete cascade,
    record_type text not null,
    record_id text not null,
    version bigint not null default 1,
    attributes jsonb not null,
    -- Length of the attributes as JSON text: what a request may read at once is bounded by it.
    attribute_bytes int not null,
    -- A deleted record stays as a tombstone until every integration has been told.
    deleted_at timestamptz,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    primary key (app_id, record_type, record_id),
    constraint records_type_length check (char_length(record_type) between 1 and 255),
    constraint records_id_length check (char_length(record_id) between 1 and 255)
) with (fillfactor = 80);

-- What the external system has, as far as it answered 2xx. A deletion it accepted leaves no row.
create table headgate.sent_records (
    integration_id uuid not null references headgate.integrations (id) on delete cascade,
    record_type text not null,
    record_id text not null,
    version bigint not null,
    attributes jsonb not null,
    sent_at timestamptz not null default clock_timestamp(),
    primary key (integration_id, record_type, record_id)
) with (fillfactor = 80);

-- What an integration may have taken in although it never said so (no answer, a broken connection, 5xx). Without this a record that
-- changes back to what was last accepted would look as if there were nothing to tell. Gone with the next accepted request.
create table headgate.unsure_records (
    integration_id uuid not null references headgate.integrations (id) on delete cascade,
    record_type text not null,
    record_id text not null,
    -- The attributes told; null: all of them, or a deletion.
    attributes text[],
    primary key (integration_id, record_type, record_id)
) with (fillfactor = 80);

-- What one attempt needs to know. A function for its settings: a plan made while the catalog was almost empty would go on reading
-- whole tables for each job after an import, until the next `analyze`; every step here probes a primary key.
create function headgate.delivery_material(asked_integration uuid, asked_job uuid, asked_type text, asked_record text)
returns table (
    now timestamptz, integration_type text, state text, endpoint_url text, headers jsonb, signing_secret bytea, previous_secret bytea,
    credentials bytea, version bigint, attributes jsonb, deleted_at timestamptz, sent_version bigint, sent_attributes jsonb,
    is_unsure boolean, unsure_attributes text[], was_lost boolean
)
language plpgsql volatile
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return query
    select clock_timestamp(), i.integration_type, i.state, i.endpoint_url, i.headers, i.signing_secret_sealed,
        case when i.previous_secret_until > clock_timestamp() then i.previous_secret_sealed end, i.credentials_sealed,
        r.version, r.attributes, r.deleted_at, s.version, s.attributes, u.integration_id is not null, u.attributes,
        coalesce(j.may_have_arrived, false)
    from headgate.integrations i
    left join headgate.records r on r.app_id = i.app_id and r.record_type = asked_type and r.record_id = asked_record
    left join headgate.sent_records s on s.integration_id = i.id and s.record_type = asked_type and s.record_id = asked_record
    left join headgate.unsure_records u on u.integration_id = i.id and u.record_type = asked_type and u.record_id = asked_record
    left join headgate.jobs j on j.id = asked_job
    where i.id = asked_integration;
end;
$$;

-- How many records there are, without counting them: appended deltas, folded by the leader, as with job_counts.
create table headgate.record_counts (
    app_id uuid not null,
    record_type text not null,
    n bigint not null,
    primary key (app_id, record_type)
) with (fillfactor = 50);
create table headgate.record_count_deltas (
    app_id uuid not null,
    record_type text not null,
    n int not null
);

create table headgate.resyncs (
    id uuid primary key,
    app_id uuid not null references headgate.apps (id) on delete cascade,
    integration_id uuid not null references headgate.integrations (id) on delete cascade,
    batch_id uuid not null references headgate.batches (id) on delete cascade,
    -- null: all of the integration's types; record_ids only together with a type.
    record_type text,
    record_ids text[],
    mode text not null,
    state text not null default 'running',
    -- How far the catalog was read: jobs are made in chunks, by the leader.
    cursor_type text,
    cursor_id text,
    is_enumerated boolean not null default false,
    -- Cancelled, and waiting jobs of it are still to be called off.
    is_calling_off boolean not null default false,
    requested_by text not null,
    created_at timestamptz not null default clock_timestamp(),
    started_at timestamptz,
    finished_at timestamptz,
    constraint resyncs_mode_known check (mode in ('full', 'changed')),
    constraint resyncs_state_known check (state in ('running', 'paused', 'completed', 'cancelled')),
    constraint resyncs_end_has_time check ((state in ('completed', 'cancelled')) = (finished_at is not null))
);
create index resyncs_by_integration on headgate.resyncs (integration_id, id);
create unique index resyncs_batch_key on headgate.resyncs (batch_id);
create index resyncs_by_app on headgate.resyncs (app_id, id);
create index resyncs_unfinished on headgate.resyncs (id) where finished_at is null or is_calling_off;
