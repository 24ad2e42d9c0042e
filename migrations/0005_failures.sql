-- Dead letters, and failures by cause: what waits to be tried again and what was given up, as groups that nobody counts. The statements that end
-- attempts append what happened, and the leader adds it up once a second (store/failures/fold.rs).
--
-- A fingerprint is the cause (16 hexadecimal digits: HTTP status and normalised error, whichever integration), a hyphen, and the end of the
-- integration's id. The indexes by the first 16 characters find a cause everywhere, the rest is one integration's share.

-- With everything that a requeue needs. Never dropped by retention. Written rarely, so that an index for each way to list them costs little.
create table headgate.dead_letter_jobs (
    id uuid primary key,
    job_id uuid not null,
    app_id uuid not null,
    integration_id uuid not null,
    batch_id uuid,
    worker_id uuid,
    created_at timestamptz not null,
    run_at timestamptz not null,
    expires_at timestamptz,
    started_at timestamptz,
    failed_at timestamptz not null default clock_timestamp(),
    timeout_ms int,
    rank smallint not null,
    priority smallint not null,
    attempt smallint not null,
    max_attempts smallint not null,
    -- As in `jobs`: a requeue carries it on.
    may_have_arrived boolean not null default false,
    is_full boolean not null,
    folded int not null,
    twins bigint[],
    job_type text not null,
    record_type text,
    record_id text,
    deduplication_id text,
    serialize_key text,
    correlation_id text not null,
    correlation_ids text[],
    earlier_correlations int,
    traceparent text,
    error_kind text not null,
    error_message text not null,
    response_status smallint,
    fingerprint text not null,
    payload jsonb,
    -- What was last sent or would have been, for people to look at; a requeue sends afresh.
    sent_body jsonb,
    attempts jsonb not null,
    constraint dead_letter_jobs_attempts_array check (jsonb_typeof(attempts) = 'array')
);
comment on table headgate.dead_letter_jobs is 'Jobs that will not be tried again by themselves.';
create unique index dead_letter_jobs_job_key on headgate.dead_letter_jobs (job_id);
-- Pages of dead letters are in the order of their own ids, and each list is walked along its index: sorting a million for a page took seconds.
create index dead_letter_jobs_by_integration on headgate.dead_letter_jobs (integration_id, id);
create index dead_letter_jobs_by_app on headgate.dead_letter_jobs (app_id, id);
create index dead_letter_jobs_by_fingerprint on headgate.dead_letter_jobs (fingerprint, id);
create index dead_letter_jobs_by_correlation on headgate.dead_letter_jobs (correlation_id, id);
-- Only jobs that are about no record: changes of records are found by their record.
create index dead_letter_jobs_by_deduplication on headgate.dead_letter_jobs (deduplication_id, job_id)
    where deduplication_id is not null and record_id is null;
create index dead_letter_jobs_by_answer on headgate.dead_letter_jobs (response_status, job_id) where response_status is not null;
create index dead_letter_jobs_by_cause on headgate.dead_letter_jobs (left(fingerprint, 16), id);
create index dead_letter_jobs_by_correlations on headgate.dead_letter_jobs using gin (correlation_ids) where correlation_ids is not null;
-- Among all jobs they are listed in the order of the jobs' ids.
create index dead_letter_jobs_by_integration_and_job on headgate.dead_letter_jobs (integration_id, job_id);
create index dead_letter_jobs_by_correlation_and_job on headgate.dead_letter_jobs (correlation_id, job_id);
create index dead_letter_jobs_by_record on headgate.dead_letter_jobs (app_id, record_type, record_id, job_id)
    where record_id is not null;
create index dead_letter_jobs_by_batch_and_id on headgate.dead_letter_jobs (batch_id, id) where batch_id is not null;
create index dead_letter_jobs_by_batch_and_job on headgate.dead_letter_jobs (batch_id, job_id) where batch_id is not null;
create index dead_letter_jobs_by_cause_and_job on headgate.dead_letter_jobs (left(fingerprint, 16), job_id);
create index dead_letter_jobs_by_fingerprint_and_job on headgate.dead_letter_jobs (fingerprint, job_id);

create table headgate.bin (
    -- The dead letter's own.
    id uuid primary key,
    job_id uuid not null,
    app_id uuid not null,
    integration_id uuid not null,
    -- The bulk operation that put it here; null: a button of its own.
    operation_id uuid,
    was text not null,
    -- The same for all of one portion, so that they lie as they lay: the newest letter first.
    binned_at timestamptz not null default now(),
    -- The whole row: whatever columns the table of dead letters has, it comes back as it was.
    letter jsonb not null,
    constraint bin_was_known check (was in ('purged', 'requeued'))
);
comment on table headgate.bin is 'Dead letters as they were when somebody purged or requeued them, for 24 hours.';
-- Nothing is put here twice by one action.
create unique index bin_by_operation on headgate.bin (operation_id, job_id) where operation_id is not null;
-- The bin's page: what was purged, newest first.
create index bin_purged on headgate.bin (binned_at, id) where was = 'purged';
create index bin_purged_by_app on headgate.bin (app_id, binned_at, id) where was = 'purged';
create index bin_by_integration on headgate.bin (integration_id);
-- Retention.
create index bin_by_age on headgate.bin (binned_at);

-- A row beside the job, because no index of `jobs` may hold what an attempt changes; jobs that succeed at once never have one. It goes with the
-- failure: when the job completes, is given up, cancelled or requeued. What a path forgets is found by the sweep (insight: store/failures/sweep.rs).
create table headgate.failing_jobs (
    job_id uuid primary key,
    integration_id uuid not null,
    fingerprint text not null,
    -- When the job may be due again, at the earliest. In the past for one that is being tried, or that an undo brought back.
    due_at timestamptz not null default '-infinity'
) with (fillfactor = 90);
comment on table headgate.failing_jobs is 'Live jobs whose last attempt failed, and by what.';
-- Jobs to be retried: of all integrations those that are due, of one integration and of one cause in the order of lists. The predicates always hold:
-- see jobs_by_integration; in an outage there are many rows where there were none.
create index failing_jobs_due on headgate.failing_jobs (due_at, job_id) where due_at is not null;
create index failing_jobs_by_integration on headgate.failing_jobs (integration_id, job_id) where integration_id is not null;
create index failing_jobs_by_cause on headgate.failing_jobs (left(fingerprint, 16), job_id) where left(fingerprint, 16) is not null;

create table headgate.failure_deltas (
    fingerprint text not null,
    integration_id uuid not null,
    at timestamptz not null default clock_timestamp(),
    -- Attempts that failed; jobs that came to wait or to be given up (negative: no longer are).
    failed int not null default 0,
    waiting int not null default 0,
    dead int not null default 0,
    error_kind text,
    error_message text,
    response_status smallint
);
comment on table headgate.failure_deltas is 'What failed and is not added up yet.';

create table headgate.failure_counts (
    fingerprint text primary key,
    cause text not null generated always as (left(fingerprint, 16)) stored,
    integration_id uuid not null,
    waiting bigint not null default 0,
    dead bigint not null default 0,
    failed bigint not null default 0,
    first_at timestamptz not null,
    last_at timestamptz not null,
    error_kind text not null,
    error_message text not null,
    response_status smallint,
    note text,
    noted_at timestamptz,
    constraint failure_counts_note_has_time check ((note is null) = (noted_at is null))
) with (fillfactor = 70);
comment on table headgate.failure_counts is 'What an integration has of a cause, and what its customer was told.';
create index failure_counts_by_cause on headgate.failure_counts (cause);
create index failure_counts_by_integration on headgate.failure_counts (integration_id);

create table headgate.failure_groups (
    cause text primary key,
    waiting bigint not null default 0,
    dead bigint not null default 0,
    failed bigint not null default 0,
    first_at timestamptz not null,
    last_at timestamptz not null,
    error_kind text not null,
    error_message text not null,
    response_status smallint,
    snoozed_until timestamptz,
    -- A failure after this opens the group again: nobody has to.
    fixed_at timestamptz
) with (fillfactor = 70);
comment on table headgate.failure_groups is 'Failures of all integrations by cause, and how the group stands.';
create index failure_groups_by_size on headgate.failure_groups ((waiting + dead), cause);
-- Those that were put aside or said to be mended are few among many that were not, and are listed by how many jobs they have.
create index failure_groups_snoozed on headgate.failure_groups ((waiting + dead), cause) where snoozed_until is not null;
create index failure_groups_fixed on headgate.failure_groups ((waiting + dead), cause) where fixed_at is not null;

create table headgate.failure_trend (
    -- A fingerprint or a cause.
    key text not null,
    bucket_at timestamptz not null,
    failed bigint not null,
    primary key (key, bucket_at)
) with (fillfactor = 70);
comment on table headgate.failure_trend is 'Failed attempts in steps of 15 minutes, kept 26 hours.';
-- Retention.
create index failure_trend_by_age on headgate.failure_trend (bucket_at);

-- Whoever writes `failing_jobs`, wherever: one row for each statement and fingerprint. A row whose time alone changed is in the group it was in.
create function headgate.note_failing() returns trigger
language plpgsql
as $$
begin
    case tg_op
        when 'INSERT' then
            insert into headgate.failure_deltas (fingerprint, integration_id, waiting)
            select fingerprint, integration_id, count(*) from came group by fingerprint, integration_id;
        when 'DELETE' then
            insert into headgate.failure_deltas (fingerprint, integration_id, waiting)
            select fingerprint, integration_id, -count(*) from went group by fingerprint, integration_id;
        else
            insert into headgate.failure_deltas (fingerprint, integration_id, waiting)
            select fingerprint, integration_id, sum(n)
            from (
                select fingerprint, integration_id, 1 as n from came
                union all
                select fingerprint, integration_id, -1 from went
            ) moved
            group by fingerprint, integration_id
            having sum(n) <> 0;
    end case;
    return null;
end;
$$;
create trigger failing_jobs_came after insert on headgate.failing_jobs referencing new table as came
    for each statement execute function headgate.note_failing();
create trigger failing_jobs_went after delete on headgate.failing_jobs referencing old table as went
    for each statement execute function headgate.note_failing();
create trigger failing_jobs_changed after update on headgate.failing_jobs referencing old table as went new table as came
    for each statement execute function headgate.note_failing();

-- The same for `dead_letter_jobs`.
create function headgate.note_dead() returns trigger
language plpgsql
as $$
begin
    if tg_op = 'INSERT' then
        insert into headgate.failure_deltas (fingerprint, integration_id, dead, error_kind, error_message, response_status)
        select fingerprint, integration_id, count(*), max(error_kind), max(error_message), max(response_status)
        from came group by fingerprint, integration_id;
    else
        insert into headgate.failure_deltas (fingerprint, integration_id, dead)
        select fingerprint, integration_id, -count(*) from went group by fingerprint, integration_id;
    end if;
    return null;
end;
$$;
create trigger dead_letter_jobs_came after insert on headgate.dead_letter_jobs referencing new table as came
    for each statement execute function headgate.note_dead();
create trigger dead_letter_jobs_went after delete on headgate.dead_letter_jobs referencing old table as went
    for each statement execute function headgate.note_dead();
