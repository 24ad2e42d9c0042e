-- The queue. `jobs` holds live jobs only and has no index on what an attempt changes, so that a claim is a HOT update. Where a job stands is
-- told by narrow tables beside it (`ready`, `waiting`), and jobs that have ended leave for day partitions, which retention drops.

create table headgate.jobs (
    id uuid primary key,
    app_id uuid not null,
    integration_id uuid not null,
    batch_id uuid,
    -- The batch it was an item of before the last fold put it into another one.
    previous_batch_id uuid,
    -- The lease, and whose it is.
    assignment_id uuid,
    worker_id uuid,
    -- The lease whose worker was asked to stop. The mark is good for that lease alone: neither another attempt nor the successor that took the row
    -- over is meant. It is compared and never cleared, so that no statement that ends a job has to know of it.
    cancel_requested_of uuid,
    -- When that was asked for; shown to people.
    cancel_requested_at timestamptz,
    created_at timestamptz not null default clock_timestamp(),
    run_at timestamptz not null default clock_timestamp(),
    -- Until when at the latest it gathers changes: each one folded in puts `run_at` off, but never beyond this. Null: it does not gather, or
    -- something in it is urgent.
    gathers_until timestamptz,
    expires_at timestamptz,
    started_at timestamptz,
    retry_at timestamptz,
    -- External assignments only: embedded workers renew one lease per process, in `workers`.
    lease_until timestamptz,
    timeout_ms int,
    -- 0 pending, 1 processing, 2 to be retried (model::job::JobStatus).
    status smallint not null default 0,
    -- The order inside a lane, lower first: urgent kinds, then priority (model::job::rank).
    rank smallint not null,
    -- What rank was before the last fold: the folding statement needs it to find the row in `ready`. Null: nothing was ever folded in, by which
    -- the accepting statement tells its new rows from the others.
    previous_rank smallint,
    priority smallint not null default 0,
    attempt smallint not null default 0,
    max_attempts smallint not null,
    -- Leases lost in a row.
    lost_leases smallint not null default 0,
    -- An attempt vanished with its worker, or was called off while it ran: what it sent may have arrived. Only a recorded completion
    -- clears it, so that it outlives retries, successors and dead letters.
    may_have_arrived boolean not null default false,
    is_full boolean not null default false,
    -- Nothing but its batch wants it: it is parked while the batch is paused. A change that is folded into it, or a requeue by hand,
    -- makes it go its own way.
    follows_batch boolean not null default false,
    -- Parked: it stands in neither `ready` nor `waiting` until it is resumed. This is the truth; an entry that a race left there is dropped
    -- by whoever meets it.
    is_parked boolean not null default false,
    -- How many changes were folded in, and the last twenty of them (model::job::Twin). Null takes no byte.
    folded int not null default 0,
    twins bigint[],
    job_type text not null,
    record_type text,
    record_id text,
    deduplication_id text,
    serialize_key text,
    correlation_id text not null,
    -- All different correlation ids of the changes in it, the newest last, the last twenty; null while `correlation_id` is the only one.
    correlation_ids text[],
    -- How many there were before those twenty.
    earlier_correlations int,
    -- The trace that the last change came with.
    traceparent text,
    payload jsonb,
    error_kind text,
    error_message text,
    -- How far the current attempt is, as its handler says: {"done", "total", "note", "at"}. Gone with the attempt.
    progress jsonb,
    -- The change that came while this one was processing: {id, job_type, rank, priority, payload, correlation_id, serialize_key,
    -- batch_id, previous_batch_id, is_full, follows_batch, created_at, folded, max_attempts, timeout_ms, run_at, expires_at}. It counts
    -- as a pending job; the finishing statement makes it the row.
    successor jsonb,
    constraint jobs_status_known check (status between 0 and 2),
    constraint jobs_lease_complete check ((status = 1) = (assignment_id is not null)),
    constraint jobs_retry_has_time check ((status = 2) = (retry_at is not null)),
    constraint jobs_attempt_range check (attempt between 0 and max_attempts)
) with (fillfactor = 50);
comment on table headgate.jobs is 'Live jobs: pending, processing or to be retried.';
-- One live row for each integration and deduplication id: the judge of every race of duplicates.
create unique index jobs_deduplication_key on headgate.jobs (integration_id, deduplication_id) where deduplication_id is not null;
create index jobs_by_batch on headgate.jobs (batch_id, id) where batch_id is not null;
-- What a pause still has to park, and what is to be resumed.
create index jobs_to_park on headgate.jobs (batch_id, id) where follows_batch and not is_parked;
create index jobs_parked on headgate.jobs (batch_id, id) where is_parked;
create index jobs_by_successor on headgate.jobs (((successor ->> 'id')::uuid)) where successor is not null;
-- Only jobs that expire; the others pay nothing. It says nothing of the status, not even in its condition: each claim changes that, and would
-- have to write all indexes of the row.
create index jobs_expiring on headgate.jobs (expires_at, id) where expires_at is not null;
-- The predicates of these two always hold. A job is looked up by its id thousands of times a second, and with statistics taken while the table
-- was almost empty the planner thinks any index that has the column somewhere as good as the primary key, and reads all of it for each job. A
-- lookup by `id` does not imply a predicate about another column, which keeps these indexes out of the choice.
create index jobs_by_integration on headgate.jobs (integration_id, id) where integration_id is not null;
create index jobs_by_correlation on headgate.jobs (correlation_id, id) where correlation_id is not null;
create index jobs_by_correlations on headgate.jobs using gin (correlation_ids) where correlation_ids is not null;

-- The primary key is the claim's index.
create table headgate.ready (
    integration_id uuid not null,
    rank smallint not null,
    created_at timestamptz not null,
    job_id uuid not null,
    primary key (integration_id, rank, created_at, job_id)
) with (fillfactor = 90);
comment on table headgate.ready is 'Jobs that can be claimed now, in the order in which they are.';
-- Where urgent work waits, when there are more lanes than one claim looks at.
create index ready_urgent on headgate.ready (integration_id) where rank < 0;

create table headgate.waiting (
    due_at timestamptz not null,
    job_id uuid primary key,
    integration_id uuid not null
) with (fillfactor = 90);
comment on table headgate.waiting is 'Scheduled and retrying jobs, by when they are due.';
-- The predicate always holds: see jobs_by_integration.
create index waiting_due on headgate.waiting (due_at, job_id) where due_at is not null;

create table headgate.claim_batches (
    id uuid primary key,
    worker_id uuid not null,
    job_ids uuid[] not null,
    claimed_at timestamptz not null default clock_timestamp()
);
comment on table headgate.claim_batches is 'One row for each round trip of a claim: what a recovery reads when a worker is dead.';
-- Ids do not compress, and trying to cost each claim of 500 a third of a millisecond.
alter table headgate.claim_batches alter column job_ids set storage external;
create index claim_batches_by_worker on headgate.claim_batches (worker_id);

-- The row is the lock of its key, hands out the order when jobs are accepted, and knows the first of the line.
create table headgate.serialize_keys (
    integration_id uuid not null,
    key text not null,
    next_seq bigint not null default 1,
    head_job_id uuid,
    primary key (integration_id, key)
) with (fillfactor = 50);
comment on table headgate.serialize_keys is 'Serialize keys that have live jobs: of each, one job runs at a time.';
create table headgate.serialized_jobs (
    integration_id uuid not null,
    key text not null,
    seq bigint not null,
    job_id uuid not null,
    primary key (integration_id, key, seq)
);
comment on table headgate.serialized_jobs is 'The live jobs of each serialize key in the order of acceptance.';
create unique index serialized_jobs_job_key on headgate.serialized_jobs (job_id);

-- Partitioned by the day of the end; retention drops whole days.
create table headgate.finished_jobs (
    id uuid not null,
    app_id uuid not null,
    integration_id uuid not null,
    batch_id uuid,
    worker_id uuid,
    created_at timestamptz not null,
    run_at timestamptz not null,
    expires_at timestamptz,
    started_at timestamptz,
    finished_at timestamptz not null default clock_timestamp(),
    duration_ms int,
    timeout_ms int,
    -- 3 completed, 4 cancelled.
    status smallint not null,
    priority smallint not null,
    attempt smallint not null,
    max_attempts smallint not null,
    response_status smallint,
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
    -- sent, unchanged, done (a handler's own), or why it was cancelled.
    outcome text not null,
    response_excerpt text,
    payload jsonb,
    result jsonb,
    constraint finished_jobs_status_known check (status in (3, 4))
) partition by range (finished_at);
comment on table headgate.finished_jobs is 'Jobs that completed or were cancelled.';
create index finished_jobs_by_id on headgate.finished_jobs (id);
create index finished_jobs_by_integration on headgate.finished_jobs (integration_id, id);
create index finished_jobs_by_record on headgate.finished_jobs (app_id, record_type, record_id, id) where record_id is not null;
create index finished_jobs_by_correlation on headgate.finished_jobs (correlation_id, id);
create index finished_jobs_by_batch on headgate.finished_jobs (batch_id, id) where batch_id is not null;
-- Only jobs that are about no record: changes of records are found by their record.
create index finished_jobs_by_deduplication on headgate.finished_jobs (deduplication_id, id)
    where deduplication_id is not null and record_id is null;
-- Cancelled jobs among millions that completed.
create index finished_jobs_cancelled on headgate.finished_jobs (id) where status = 4;
create index finished_jobs_by_correlations on headgate.finished_jobs using gin (correlation_ids) where correlation_ids is not null;

create table headgate.job_attempts (
    job_id uuid not null,
    integration_id uuid not null,
    worker_id uuid,
    started_at timestamptz,
    finished_at timestamptz not null default clock_timestamp(),
    duration_ms int,
    attempt smallint not null,
    response_status smallint,
    outcome text not null,
    error_kind text,
    error_message text,
    response_excerpt text,
    -- What follows: how long the job waits for the next attempt, and why so long.
    next_wait_ms bigint,
    next_wait_reason text,
    -- What went over the wire: request, head of the answer, where the time went (model::exchange::Exchange). As a rule 1 kB, never more than
    -- some 12.
    exchange jsonb,
    constraint job_attempts_outcome_known check (outcome in ('failed', 'timed_out', 'lost'))
) partition by range (finished_at);
comment on table headgate.job_attempts is 'Attempts that failed; a successful one stands in the row of the finished job.';
create index job_attempts_by_job on headgate.job_attempts (job_id);

-- Folded rows plus the deltas that are not folded yet are the truth at any moment.
create table headgate.job_counts (
    integration_id uuid not null,
    -- As in `jobs`, and 5 for dead letters.
    status smallint not null,
    attempt smallint not null,
    n bigint not null,
    primary key (integration_id, status, attempt)
) with (fillfactor = 50);
comment on table headgate.job_counts is 'How many live jobs and dead letters stand where, without counting them.';
create table headgate.job_count_deltas (
    integration_id uuid not null,
    status smallint not null,
    attempt smallint not null,
    n int not null
);
comment on table headgate.job_count_deltas is 'Changes of job_counts that the leader has not folded in yet.';

create table headgate.batches (
    id uuid primary key,
    app_id uuid not null references headgate.apps (id) on delete cascade,
    integration_id uuid references headgate.integrations (id) on delete cascade,
    job_type text not null,
    total bigint not null default 0,
    succeeded bigint not null default 0,
    failed bigint not null default 0,
    cancelled bigint not null default 0,
    is_sealed boolean not null default false,
    -- Jobs that follow it are parked.
    is_paused boolean not null default false,
    created_at timestamptz not null default clock_timestamp(),
    completed_at timestamptz
) with (fillfactor = 50);
comment on table headgate.batches is 'Containers of jobs, one level deep.';
create index batches_by_app on headgate.batches (app_id, id);
-- Deleting an integration looks for its batches.
create index batches_by_integration on headgate.batches (integration_id) where integration_id is not null;
-- Appended to instead of an update: the row of a batch of a million items must not be hot.
create table headgate.batch_deltas (
    batch_id uuid not null,
    total int not null default 0,
    succeeded int not null default 0,
    failed int not null default 0,
    cancelled int not null default 0
);
comment on table headgate.batch_deltas is 'Items of batches that came to their end and are not added up yet.';
create index batch_deltas_by_batch on headgate.batch_deltas (batch_id);
