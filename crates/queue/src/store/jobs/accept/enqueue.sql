-- Accepts jobs in one statement: new ones are inserted; a job whose deduplication id has a live row folds into that row when it waits, or
-- becomes its successor when it is being processed (or folds into the successor it has already). The unique index decides; the row lock of
-- `on conflict do update` keeps a claim from beginning before the fold is done.
--
-- The rows come sorted by (integration, deduplication id): finishing locks in the same order.
--
-- Nothing is joined to the arguments: the stored row itself says what is new of it (`previous_rank`, which only a fold sets; `is_joined`, which
-- only a fold into a successor sets), and the caller knows what it asked for. So there is nothing for a planner to get wrong, and 40,000 rows
-- cost forty times what 1,000 do.
with moment as materialized (
    select clock_timestamp() as now
), stored as materialized (
    insert into headgate.jobs as j (
        id, app_id, integration_id, batch_id, created_at, run_at, expires_at, timeout_ms, rank, previous_rank, priority, max_attempts,
        is_full, follows_batch, folded, twins, correlation_ids, earlier_correlations, traceparent, gathers_until, job_type, record_type, record_id,
        deduplication_id, serialize_key, correlation_id, payload
    )
    select g.id, g.app_id, g.integration_id, g.batch_id, g.created_at, coalesce(g.run_at, g.created_at), g.expires_at, g.timeout_ms,
        g.rank, null, g.priority, g.max_attempts, g.is_full,
        -- A job of a record that comes with a batch belongs to a re-sync.
        g.batch_id is not null and g.record_id is not null, g.folded,
        -- Only where this call has several changes; the first of them is the job itself, which `get` leaves out.
        case when g.kinds is not null then array(
            select headgate.twin(k.kind, g.created_at) from jsonb_array_elements_text(g.kinds) with ordinality k (kind, n) order by k.n
        ) end,
        -- Only where they have several.
        case when g.correlations is not null then array(
            select k.id from jsonb_array_elements_text(g.correlations) with ordinality k (id, n) order by k.n
        ) end,
        g.earlier_correlations, g.traceparent, g.gathers_until,
        g.job_type, g.record_type, g.record_id, g.deduplication_id,
        g.serialize_key, g.correlation_id, g.payload
    from (
        -- Unnested side by side in the select list, null columns as empty arrays: see `enqueue_plain.sql`. It also keeps the rows in order.
        select unnest($1::uuid[]) as id, unnest($2::uuid[]) as app_id, unnest($3::uuid[]) as integration_id,
            unnest($4::uuid[]) as batch_id, unnest($5::timestamptz[]) as run_at, unnest($6::timestamptz[]) as expires_at,
            unnest($7::int[]) as timeout_ms, unnest($8::smallint[]) as rank, unnest($9::smallint[]) as priority,
            unnest($10::smallint[]) as max_attempts, unnest($11::boolean[]) as is_full, unnest($12::int[]) as folded,
            unnest($13::text[]) as job_type, unnest($14::text[]) as record_type, unnest($15::text[]) as record_id,
            unnest($16::text[]) as deduplication_id, unnest($17::text[]) as serialize_key, unnest($18::text[]) as correlation_id,
            unnest($19::jsonb[]) as payload, unnest($21::jsonb[]) as kinds, unnest($22::jsonb[]) as correlations,
            unnest($23::int[]) as earlier_correlations, unnest($24::text[]) as traceparent, unnest($25::timestamptz[]) as gathers_until,
            -- Jobs are accepted in the order of the input, not in the order of the locks.
            m.now + unnest($20::int[]) * interval '1 microsecond' as created_at
        from moment m
    ) g
    on conflict (integration_id, deduplication_id) where deduplication_id is not null do update
    set
        previous_rank = j.rank,
        previous_batch_id = j.batch_id,
        rank = case when j.status = 1 or j.successor is not null then j.rank else least(j.rank, excluded.rank) end,
        job_type = case
            when j.status = 1 or j.successor is not null or excluded.rank >= j.rank then j.job_type else excluded.job_type
        end,
        priority = case
            when j.status = 1 or j.successor is not null or excluded.rank >= j.rank then j.priority else excluded.priority
        end,
        payload = case when j.status = 1 or j.successor is not null then j.payload else excluded.payload end,
        is_full = case when j.status = 1 or j.successor is not null then j.is_full else j.is_full or excluded.is_full end,
        -- A live change must not be parked with a paused batch.
        follows_batch = case
            when j.status = 1 or j.successor is not null then j.follows_batch else j.follows_batch and excluded.follows_batch
        end,
        folded = case when j.status = 1 or j.successor is not null then j.folded else j.folded + 1 + excluded.folded end,
        -- The last twenty, eight bytes each.
        twins = case
            when j.status = 1 or j.successor is not null then j.twins
            when excluded.twins is null
                then j.twins[cardinality(j.twins) - 18:] || headgate.twin(excluded.job_type, excluded.created_at)
            else (j.twins || excluded.twins)[cardinality(j.twins || excluded.twins) - 19:]
        end,
        -- The last twenty, and how many there were before them.
        (correlation_ids, earlier_correlations) = (
            select c.ids[cardinality(c.ids) - 19:], nullif(coalesce(j.earlier_correlations, 0) + c.more, 0)
            from (
                select j.correlation_ids as ids, 0 as more where j.status = 1 or j.successor is not null
                union all
                select k.ids, coalesce(excluded.earlier_correlations, 0) + coalesce(greatest(cardinality(k.ids) - 20, 0), 0)
                from headgate.joined_correlations(
                    j.correlation_ids, j.correlation_id, excluded.correlation_ids, excluded.correlation_id
                ) k (ids)
                where j.status <> 1 and j.successor is null
            ) c
        ),
        traceparent = case
            when j.status = 1 or j.successor is not null then j.traceparent else coalesce(excluded.traceparent, j.traceparent)
        end,
        batch_id = case
            when j.status = 1 or j.successor is not null then j.batch_id else coalesce(excluded.batch_id, j.batch_id)
        end,
        run_at = case
            when j.status = 1 or j.successor is not null then j.run_at
            -- The debounce starts again, unless it is over: then the job may be in `ready`.
            when j.status = 0 and j.gathers_until is not null and excluded.gathers_until is not null and j.run_at > excluded.created_at
                then least(j.gathers_until, excluded.run_at)
            else least(j.run_at, excluded.run_at)
        end,
        -- A change that is not debounced ends the debounce of the whole job.
        gathers_until = case
            when j.status = 1 or j.successor is not null or excluded.gathers_until is not null then j.gathers_until
        end,
        -- Never (null) is the latest of all.
        expires_at = case
            when j.status = 1 or j.successor is not null then j.expires_at
            when excluded.expires_at is not null and j.expires_at is not null then greatest(j.expires_at, excluded.expires_at)
        end,
        max_attempts = case
            when j.status = 1 or j.successor is not null then j.max_attempts else greatest(j.max_attempts, excluded.max_attempts)
        end,
        timeout_ms = case
            when j.status = 1 or j.successor is not null then j.timeout_ms else coalesce(excluded.timeout_ms, j.timeout_ms)
        end,
        successor = case
            when j.successor is not null then j.successor || jsonb_build_object(
                'rank', least((j.successor ->> 'rank')::smallint, excluded.rank),
                'job_type', case
                    when excluded.rank < (j.successor ->> 'rank')::smallint then excluded.job_type else j.successor ->> 'job_type'
                end,
                'priority', case
                    when excluded.rank < (j.successor ->> 'rank')::smallint then excluded.priority
                    else (j.successor ->> 'priority')::smallint
                end,
                'payload', excluded.payload,
                'is_full', (j.successor ->> 'is_full')::boolean or excluded.is_full,
                'follows_batch', (j.successor ->> 'follows_batch')::boolean and excluded.follows_batch,
                'folded', (j.successor ->> 'folded')::int + 1 + excluded.folded,
                'twins', headgate.twins_of(j.successor)
                    || coalesce(excluded.twins, array[headgate.twin(excluded.job_type, excluded.created_at)]),
                'traceparent', coalesce(excluded.traceparent, j.successor ->> 'traceparent'),
                'previous_batch_id', j.successor ->> 'batch_id',
                'batch_id', coalesce(excluded.batch_id, (j.successor ->> 'batch_id')::uuid),
                'run_at', case
                    when j.successor ->> 'gathers_until' is not null and excluded.gathers_until is not null
                        and (j.successor ->> 'run_at')::timestamptz > excluded.created_at
                        then least((j.successor ->> 'gathers_until')::timestamptz, excluded.run_at)
                    else least((j.successor ->> 'run_at')::timestamptz, excluded.run_at)
                end,
                'gathers_until', case when excluded.gathers_until is not null then j.successor ->> 'gathers_until' end,
                'expires_at', case
                    when excluded.expires_at is not null and j.successor ->> 'expires_at' is not null
                        then greatest((j.successor ->> 'expires_at')::timestamptz, excluded.expires_at)
                end,
                'max_attempts', greatest((j.successor ->> 'max_attempts')::smallint, excluded.max_attempts),
                'timeout_ms', coalesce(excluded.timeout_ms, (j.successor ->> 'timeout_ms')::int),
                'is_joined', true
            ) || (
                select jsonb_build_object(
                    'correlation_ids', c.ids[cardinality(c.ids) - 19:],
                    'earlier_correlations', nullif(
                        coalesce((j.successor ->> 'earlier_correlations')::int, 0) + coalesce(excluded.earlier_correlations, 0)
                            + coalesce(greatest(cardinality(c.ids) - 20, 0), 0), 0
                    )
                )
                from headgate.joined_correlations(
                    headgate.correlation_ids_of(j.successor), j.successor ->> 'correlation_id', excluded.correlation_ids, excluded.correlation_id
                ) c (ids)
            )
            when j.status = 1 then jsonb_build_object(
                'id', excluded.id, 'job_type', excluded.job_type, 'rank', excluded.rank, 'priority', excluded.priority,
                'payload', excluded.payload, 'correlation_id', excluded.correlation_id, 'serialize_key', excluded.serialize_key,
                'batch_id', excluded.batch_id, 'previous_batch_id', null, 'is_full', excluded.is_full, 'follows_batch', excluded.follows_batch,
                'folded', excluded.folded, 'twins', excluded.twins, 'correlation_ids', excluded.correlation_ids,
                'earlier_correlations', excluded.earlier_correlations, 'traceparent', excluded.traceparent,
                'gathers_until', excluded.gathers_until,
                'created_at', excluded.created_at, 'run_at', excluded.run_at, 'expires_at', excluded.expires_at,
                'max_attempts', excluded.max_attempts, 'timeout_ms', excluded.timeout_ms
            )
        end
    returning j.id, j.integration_id, j.deduplication_id, j.serialize_key, j.rank, j.previous_rank, j.status, j.is_parked, j.run_at, j.created_at,
        j.previous_rank is null as is_new,
        j.successor is not null and not j.successor ? 'is_joined' as is_new_successor,
        -- Evaluated once: otherwise the clock could move on between two steps, and a job would get neither entry.
        j.run_at <= greatest(clock_timestamp(), j.created_at) as is_due,
        (j.successor ->> 'id')::uuid as successor_id,
        case when j.successor is null then j.batch_id else (j.successor ->> 'batch_id')::uuid end as batch_id,
        case when j.successor is null then j.previous_batch_id else (j.successor ->> 'previous_batch_id')::uuid end as previous_batch_id
), now_ready as (
    insert into headgate.ready (integration_id, rank, created_at, job_id)
    select integration_id, rank, created_at, id from stored
    where is_new and is_due and serialize_key is null
), for_later as (
    insert into headgate.waiting (due_at, job_id, integration_id)
    select run_at, id, integration_id from stored
    where is_new and not is_due and serialize_key is null
), counted as (
    insert into headgate.job_count_deltas (integration_id, status, attempt, n)
    select integration_id, 0, 0, count(*) from stored
    where is_new or is_new_successor
    group by integration_id
), batched as (
    insert into headgate.batch_deltas (batch_id, total)
    select batch_id, sum(n)
    from (
        select batch_id, 1 as n from stored where is_new or is_new_successor
        union all
        -- A fold moved the job into the batch of this call.
        select d.batch_id, d.n
        from stored s
        cross join lateral (values (s.batch_id, 1), (s.previous_batch_id, -1)) d (batch_id, n)
        where s.previous_batch_id is distinct from s.batch_id and not s.is_new and not s.is_new_successor
    ) moved
    where batch_id is not null
    group by batch_id
    having sum(n) <> 0
)
-- Only folded jobs: the caller knows the new ones.
select coalesce(s.successor_id, s.id) as "id!: JobId", s.integration_id as "integration_id!: IntegrationId", s.deduplication_id,
    s.id as "row_id!: JobId",
    (s.successor_id is null and s.status <> 1 and s.rank < s.previous_rank) as "is_more_urgent!",
    s.is_parked as "is_parked!",
    -- Only of a row that may wait for a time. The caller finds out whether that is the time it asked for.
    case when s.successor_id is null and s.status = 0 then s.run_at end as run_at,
    s.run_at >= m.now as "is_later!"
from stored s
cross join moment m
where not s.is_new
