-- What the processes of a deployment share: workers and their leases, the leader, bulk operations, answers to repeated calls.

create table headgate.workers (
    id uuid primary key,
    host text not null,
    pid int not null,
    version text not null,
    -- Whose lanes it claims from, and the kinds of jobs it has handlers for: for people who ask why a job does not run. Null program: those of
    -- `headgate`. Null job_types: it does whatever it claims. Two programs of one name, which give back each other's jobs, are told apart by it.
    program text,
    job_types text[],
    slots int not null,
    busy int not null default 0,
    is_draining boolean not null default false,
    started_at timestamptz not null default clock_timestamp(),
    heartbeat_at timestamptz not null default clock_timestamp(),
    lease_until timestamptz not null
) with (fillfactor = 50);
comment on table headgate.workers is 'One row for each start of a process. A processing job whose worker has no live row here is lost.';

-- On the database's clock. Every maintenance write tests the term.
create table headgate.leader (
    is_only boolean primary key default true,
    holder uuid not null,
    term bigint not null,
    -- How many services its holder runs: a process that runs more takes the lease over, so that a program that only works jobs never keeps
    -- the services of the console and of deliveries from running.
    services smallint not null,
    expires_at timestamptz not null,
    constraint leader_is_only_row check (is_only)
) with (fillfactor = 50);
comment on table headgate.leader is 'The lease of the process that does maintenance.';

-- Whether this holder's term still holds. Every maintenance write asks `where (select headgate.is_leader(…))`: evaluated once per
-- statement, so that a process that was stopped and woke up after another took over writes nothing.
create function headgate.is_leader(asked_holder uuid, asked_term bigint) returns boolean
language sql volatile
as $$
    select exists (
        select 1 from headgate.leader
        where holder = asked_holder and term = asked_term and expires_at > clock_timestamp()
    );
$$;

create table headgate.operations (
    id uuid primary key,
    -- requeue, cancel (of jobs); requeue, purge (of dead letters); undo (of one of these).
    subject text not null,
    action text not null,
    filter jsonb not null,
    -- Named one by one instead of by a filter.
    ids uuid[],
    reason text,
    requested_by text not null,
    app_id uuid,
    -- The one it takes back.
    undoes uuid,
    state text not null,
    hold_until timestamptz,
    rate_per_second int,
    matched bigint not null,
    -- Counted when it was asked for: by integration and status; and some of the jobs.
    breakdown jsonb not null default '[]',
    sample jsonb not null default '[]',
    changed bigint not null default 0,
    skipped bigint not null default 0,
    -- How many were left as they were, by reason.
    skipped_reasons jsonb not null default '{}',
    -- Ids at or below this one were there when the action was asked for; later ones are not touched.
    upper_id uuid not null,
    cursor_id uuid,
    -- With a chosen rate: no further portion before then.
    paced_until timestamptz,
    error_message text,
    created_at timestamptz not null default clock_timestamp(),
    started_at timestamptz,
    finished_at timestamptz,
    constraint operations_subject_known check (subject in ('jobs', 'dead_letters')),
    constraint operations_action_known check (action in ('requeue', 'cancel', 'purge', 'undo')),
    constraint operations_undo_of_something check ((action = 'undo') = (undoes is not null)),
    constraint operations_state_known check (state in ('held', 'running', 'paused', 'done', 'aborted', 'undone'))
);
comment on table headgate.operations is 'Bulk actions on jobs and dead letters.';
create index operations_unfinished on headgate.operations (id) where finished_at is null;
-- Nothing is taken back twice.
create unique index operations_undoes_key on headgate.operations (undoes) where undoes is not null;
create index operations_by_app on headgate.operations (app_id, id) where app_id is not null;

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
    -- By what it had failed.
    fingerprint text,
    kept_at timestamptz not null default clock_timestamp(),
    primary key (operation_id, job_id)
);
comment on table headgate.operation_jobs is 'Where jobs stood before a bulk action cancelled or requeued them: what an undo needs, for 24 hours.';
-- Retention.
create index operation_jobs_by_age on headgate.operation_jobs (kept_at);

create table headgate.idempotency_keys (
    -- Who asked (key or user id), so that one tenant's keys never meet another's.
    owner text not null,
    method text not null,
    path text not null,
    key text not null,
    body_hash bytea not null,
    status smallint,
    answer bytea,
    created_at timestamptz not null default clock_timestamp(),
    primary key (owner, method, path, key)
);
comment on table headgate.idempotency_keys is 'Answers of calls with an Idempotency-Key, for 24 hours.';
-- Retention.
create index idempotency_keys_by_age on headgate.idempotency_keys (created_at);
