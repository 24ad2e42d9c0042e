-- The queue. `jobs` holds live jobs only and has no index on what an attempt changes, so that claiming is a HOT update; where a
-- job stands is told by the narrow tables beside it (DESIGN 3). First release: no older worker exists.

-- status: 0 pending, 1 processing, 2 to_be_retried (the codes of model::job::JobStatus)
create table headgate.jobs (
    id uuid primary key,
    app_id uuid not null,
    integration_id uuid not null,
    batch_id uuid,
    assignment_id uuid,
    worker_id uuid,
    created_at timestamptz not null default clock_timestamp(),
    run_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz,
    started_at timestamptz,
    retry_at timestamptz,
    -- External assignments only: embedded workers renew one lease per process, in `workers`.
    lease_until timestamptz,
    timeout_ms int,
    status smallint not null default 0,
    -- The order inside a lane, lower first: urgent kinds, then priority (model::job::rank).
    rank smallint not null,
    -- What rank was before the last fold: the fold's statement needs it to find the row in `ready`.
    previous_rank smallint not null default 0,
    -- The batch it was an item of before the last fold put it into another one.
    previous_batch_id uuid,
    priority smallint not null default 0,
    attempt smallint not null default 0,
    max_attempts smallint not null,
    -- Leases lost in a row: three make a dead letter.
    lost_leases smallint not null default 0,
    -- An attempt vanished with its worker, or was called off while it ran: what it sent may have arrived. Only a recorded completion
    -- clears it, so that it outlives retries, successors and dead letters.
    may_have_arrived boolean not null default false,
    is_full boolean not null default false,
    -- Nothing but its batch wants it: it is held while the batch is paused. A change that is folded into it, or a requeue by hand,
    -- makes it go its own way.
    follows_batch boolean not null default false,
    -- Held: it stands in neither `ready` nor `waiting` until it is let go. This is the truth; an entry that a race left there is dropped
    -- by whoever meets it.
    is_held boolean not null default false,
    -- Changes folded into this job besides the first.
    folded int not null default 0,
    job_type text not null,
    record_type text,
    record_id text,
    deduplication_id text,
    serialize_key text,
    correlation_id text not null,
    payload jsonb,
    error_kind text,
    error_message text,
    -- The change that came while this one was processing: {id, job_type, rank, priority, payload, correlation_id, serialize_key,
    -- batch_id, previous_batch_id, is_full, follows_batch, created_at, folded, max_attempts, timeout_ms, run_at, expires_at}. It counts
    -- as a pending job; the finishing statement makes it the row.
    successor jsonb,
    constraint jobs_status_known check (status between 0 and 2),
    constraint jobs_lease_complete check ((status = 1) = (assignment_id is not null)),
    constraint jobs_retry_has_time check ((status = 2) = (retry_at is not null)),
    constraint jobs_attempt_range check (attempt between 0 and max_attempts)
) with (fillfactor = 50);
-- One live row per integration and deduplication id: the judge of every dedup race.
create unique index jobs_deduplication_key on headgate.jobs (integration_id, deduplication_id) where deduplication_id is not null;
create index jobs_by_integration on headgate.jobs (integration_id, id);
create index jobs_by_batch on headgate.jobs (batch_id, id) where batch_id is not null;
-- What a pause has still to hold, and a resume to let go.
create index jobs_to_hold on headgate.jobs (batch_id, id) where follows_batch and not is_held;
create index jobs_held on headgate.jobs (batch_id, id) where is_held;
create index jobs_by_correlation on headgate.jobs (correlation_id, id);
create index jobs_by_successor on headgate.jobs (((successor ->> 'id')::uuid)) where successor is not null;

-- Claimable rows only. Its primary key is the claim's index.
create table headgate.ready (
    integration_id uuid not null,
    rank smallint not null,
    created_at timestamptz not null,
    job_id uuid not null,
    primary key (integration_id, rank, created_at, job_id)
) with (fillfactor = 90);

-- Scheduled and retrying jobs, by when they are due.
create table headgate.waiting (
    due_at timestamptz not null,
    job_id uuid not null,
    integration_id uuid not null,
    primary key (due_at, job_id)
) with (fillfactor = 90);
create unique index waiting_job_key on headgate.waiting (job_id);

-- One row per claim round trip: what the sweep reads when a worker is dead.
create table headgate.claim_batches (
    id uuid primary key,
    worker_id uuid not null,
    job_ids uuid[] not null,
    claimed_at timestamptz not null default clock_timestamp()
);
create index claim_batches_by_worker on headgate.claim_batches (worker_id);

-- The key row is the lock, hands out the order at acceptance and knows its head.
create table headgate.serialize_keys (
    integration_id uuid not null,
    key text not null,
    next_seq bigint not null default 1,
    head_job_id uuid,
    primary key (integration_id, key)
) with (fillfactor = 50);
-- The live jobs of a key in order of acceptance; the first is the head.
create table headgate.serialized_jobs (
    integration_id uuid not null,
    key text not null,
    seq bigint not null,
    job_id uuid not null,
    primary key (integration_id, key, seq)
);
create unique index serialized_jobs_job_key on headgate.serialized_jobs (job_id);

-- Jobs that came to their end: completed (3) and cancelled (4). Partitioned by day of the end, dropped by retention.
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
    status smallint not null,
    priority smallint not null,
    attempt smallint not null,
    max_attempts smallint not null,
    response_status smallint,
    is_full boolean not null,
    folded int not null,
    job_type text not null,
    record_type text,
    record_id text,
    deduplication_id text,
    serialize_key text,
    correlation_id text not null,
    -- sent, unchanged, done (a handler's own), or why it was cancelled.
    outcome text not null,
    response_excerpt text,
    payload jsonb,
    result jsonb,
    constraint finished_jobs_status_known check (status in (3, 4))
) partition by range (finished_at);
create index finished_jobs_by_id on headgate.finished_jobs (id);
create index finished_jobs_by_integration on headgate.finished_jobs (integration_id, id);
create index finished_jobs_by_record on headgate.finished_jobs (app_id, record_type, record_id, id) where record_id is not null;
create index finished_jobs_by_correlation on headgate.finished_jobs (correlation_id, id);
create index finished_jobs_by_batch on headgate.finished_jobs (batch_id, id) where batch_id is not null;

-- Failed attempts (a successful one stands in the finished row).
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
    -- What follows: the wait until the next attempt and why it is that long.
    next_wait_ms bigint,
    next_wait_reason text,
    constraint job_attempts_outcome_known check (outcome in ('failed', 'timed_out', 'lost'))
) partition by range (finished_at);
create index job_attempts_by_job on headgate.job_attempts (job_id);

-- Jobs that will not be tried again by themselves, with everything needed to requeue them. Never dropped by retention.
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
    job_type text not null,
    record_type text,
    record_id text,
    deduplication_id text,
    serialize_key text,
    correlation_id text not null,
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
create unique index dead_letter_jobs_job_key on headgate.dead_letter_jobs (job_id);
create index dead_letter_jobs_by_integration on headgate.dead_letter_jobs (integration_id, id);
create index dead_letter_jobs_by_app on headgate.dead_letter_jobs (app_id, id);
create index dead_letter_jobs_by_fingerprint on headgate.dead_letter_jobs (fingerprint, id);
create index dead_letter_jobs_by_record on headgate.dead_letter_jobs (app_id, record_type, record_id) where record_id is not null;
create index dead_letter_jobs_by_correlation on headgate.dead_letter_jobs (correlation_id, id);
create index dead_letter_jobs_by_batch on headgate.dead_letter_jobs (batch_id) where batch_id is not null;

-- How many live jobs (and dead letters: status 5) stand where. Folded rows plus unfolded deltas are the truth at any moment.
create table headgate.job_counts (
    integration_id uuid not null,
    status smallint not null,
    attempt smallint not null,
    n bigint not null,
    primary key (integration_id, status, attempt)
) with (fillfactor = 50);
create table headgate.job_count_deltas (
    integration_id uuid not null,
    status smallint not null,
    attempt smallint not null,
    n int not null
);

-- Containers of jobs. First, plain form: one level; trees, sealing and streams come with their own capability.
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
    -- Jobs that follow it are held.
    is_paused boolean not null default false,
    created_at timestamptz not null default clock_timestamp(),
    completed_at timestamptz
) with (fillfactor = 50);
create index batches_by_app on headgate.batches (app_id, id);
-- Items that came to their end append here: the batch row of a million items must not be hot.
create table headgate.batch_deltas (
    batch_id uuid not null,
    total int not null default 0,
    succeeded int not null default 0,
    failed int not null default 0,
    cancelled int not null default 0
);
create index batch_deltas_by_batch on headgate.batch_deltas (batch_id);
