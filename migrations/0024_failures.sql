-- Failures by cause: what waits to be tried again and what was given up, as groups that nobody counts. The statements that end attempts
-- append what happened, the leader adds it up once a second (store/failures/fold.rs). Processes of the version before run on this schema: of what
-- fails in them the groups know the dead letters alone.
--
-- A fingerprint is the cause (16 hexadecimal digits: HTTP status and normalised error, whichever integration), a hyphen, and the end of the
-- integration's id: the index by the first 16 characters finds a cause everywhere, the rest one integration's share.

-- Live jobs whose last attempt failed, and by what. A row beside the job, because no index of `jobs` may hold what an attempt changes; those
-- that succeed at once never have one. It goes with the failure: when the job completes, is given up, called off or begun anew. What a path
-- forgets is found by the sweep (store/failures/sweep.rs).
create table headgate.failing_jobs (
    job_id uuid primary key,
    integration_id uuid not null,
    fingerprint text not null
) with (fillfactor = 90);
create index failing_jobs_by_cause on headgate.failing_jobs (left(fingerprint, 16), job_id);
create index dead_letter_jobs_by_cause on headgate.dead_letter_jobs (left(fingerprint, 16), id);

-- What happened and is not added up yet: attempts that failed, jobs that came to wait or to be given up (or, negative, no longer are).
create table headgate.failure_deltas (
    fingerprint text not null,
    integration_id uuid not null,
    at timestamptz not null default clock_timestamp(),
    failed int not null default 0,
    waiting int not null default 0,
    dead int not null default 0,
    error_kind text,
    error_message text,
    response_status smallint
);

-- What an integration has of a cause, and what its customer was told.
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
create index failure_counts_by_cause on headgate.failure_counts (cause);
create index failure_counts_by_integration on headgate.failure_counts (integration_id);

-- The same of all integrations together, and how the group stands.
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
create index failure_groups_by_size on headgate.failure_groups ((waiting + dead), cause);

-- Failed attempts in steps of 15 minutes, of a fingerprint and of a cause. Kept 26 hours.
create table headgate.failure_trend (
    key text not null,
    bucket_at timestamptz not null,
    failed bigint not null,
    primary key (key, bucket_at)
) with (fillfactor = 70);
create index failure_trend_by_age on headgate.failure_trend (bucket_at);

-- Whoever writes `failing_jobs` or `dead_letter_jobs`, wherever: one row a statement and fingerprint.
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
            select fingerprint, integration_id, count(*) from came group by fingerprint, integration_id
            union all
            select fingerprint, integration_id, -count(*) from went group by fingerprint, integration_id;
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

-- Dead letters there are already. Their fingerprints are of the form before, one for each integration: groups of their own.
insert into headgate.failure_deltas (fingerprint, integration_id, at, dead, error_kind, error_message, response_status)
select fingerprint, integration_id, d.at, count(*), max(error_kind), max(error_message), max(response_status)
from headgate.dead_letter_jobs
cross join lateral (select date_trunc('minute', failed_at) as at) d
group by fingerprint, integration_id, d.at;
