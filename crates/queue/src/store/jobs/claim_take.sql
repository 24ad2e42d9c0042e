-- The end of every claim: takes what was chosen (`claim.sql`, `claim_few.sql`) from `ready`, gives leases, keeps the counters and the lanes'
-- order. Of what comes before it reads `locked`, the entries, whose jobs' rows are locked; `looked_at`, the lanes; `turns`, whether more lanes
-- are awake than one claim looks at; and `answer`, whether that is all there was to take.
), taken as materialized (
    -- Entries are never changed, only made and deleted, and what this statement sees is not cleaned up before it ends: an entry stays
    -- where it lies. One that is gone meanwhile is somebody else's.
    delete from headgate.ready r
    using locked c
    where r.ctid = c.entry
    returning r.job_id, c.status, c.is_due, c.is_held, c.due_at, r.integration_id, c.is_limited, c.is_probe
), claimed as materialized (
    -- By a list, not by a join: where statistics say that there is one job, that began with reading all of them.
    update headgate.jobs j
    set status = 1, attempt = j.attempt + 1, assignment_id = gen_random_uuid(), worker_id = $1::uuid, started_at = clock_timestamp(),
        retry_at = null, progress = null
    where j.id = any (array(select t.job_id from taken t where t.status <> 1 and t.is_due))
    returning j.integration_id, j.attempt, j.id, j.app_id, j.batch_id, j.assignment_id, j.created_at,
        -- Since when it could have begun. (A text may say a year before the first, which no client reads.)
        greatest(j.run_at, j.created_at) as run_at, j.started_at, coalesce(j.expires_at <= clock_timestamp(), false) as is_expired,
        j.integration_id = any (array(select distinct t.integration_id from taken t where t.is_limited)) as is_limited,
        j.integration_id = any (array(select distinct t.integration_id from taken t where t.is_probe)) as is_probe,
        j.timeout_ms, j.rank, j.max_attempts, j.may_have_arrived, j.is_full, j.job_type, j.record_type, j.record_id, j.deduplication_id,
        j.serialize_key,
        -- The last one's, where changes of several were folded into it.
        coalesce(j.correlation_ids[cardinality(j.correlation_ids)], j.correlation_id) as correlation_id, j.traceparent, j.payload
), put_back as (
    -- A row of `ready` that a race (or a clock set back) left there before its time: the job waits.
    insert into headgate.waiting (due_at, job_id, integration_id)
    select t.due_at, t.job_id, t.integration_id from taken t
    where t.status = 2 and not t.is_due and not t.is_held
    on conflict (job_id) do nothing
), held as (
    -- Of a paused batch: it stands in no queue until it is let go.
    update headgate.jobs j set is_held = true
    where j.id = any (array(select t.job_id from taken t where t.status <> 1 and t.is_held))
), counted as (
    -- An attempt of 0 was pending, any other was to be retried.
    insert into headgate.job_count_deltas (integration_id, status, attempt, n)
    select d.integration_id, s.status, s.attempt, s.n
    from (select integration_id, attempt, count(*)::int as n from claimed group by integration_id, attempt) d
    cross join lateral (
        values ((case when d.attempt = 1 then 0 else 2 end)::smallint, (d.attempt - 1)::smallint, -d.n), (1::smallint, d.attempt, d.n)
    ) s (status, attempt, n)
), tended as (
    -- Served lanes go to the end of the line, and those whose jobs were all passed over; where lanes take turns, those that could give
    -- nothing too, while those that were not needed keep their place: a claim that got less than it wanted needed all. Those found empty
    -- fall asleep, unless someone woke them meanwhile. Someone who changes a lane must not hold up all claims.
    update headgate.lanes l
    set last_claimed_at = case when s.is_at_end then clock_timestamp() else l.last_claimed_at end,
        is_asleep = case when s.is_woken then false when s.is_empty then true else l.is_asleep end,
        woken_at = case when s.is_woken then clock_timestamp() else l.woken_at end
    from (
        select d.integration_id, d.is_at_end, d.is_woken, d.is_empty and x.woken_at < clock_timestamp() - interval '5 seconds' as is_empty
        from (
            select m.integration_id, bool_or(m.is_woken) as is_woken, bool_and(m.is_empty) as is_empty,
                bool_or(m.is_served) or (
                    (select are_taken from turns) and (bool_and(m.is_idle) or (select count(*) from claimed) < $2::int)
                ) as is_at_end
            from looked_at m
            group by m.integration_id
        ) d
        cross join lateral (
            select x.woken_at from headgate.lanes x where x.integration_id = d.integration_id for update skip locked offset 0
        ) x
        where d.is_at_end or d.is_empty or d.is_woken
    ) s
    where l.integration_id = s.integration_id
), batch as (
    insert into headgate.claim_batches (id, worker_id, job_ids)
    select $6::uuid, $1::uuid, array_agg(id) from claimed having count(*) > 0
)
-- In the order in which `ClaimedJob::read` reads them.
select c.assignment_id, c.integration_id, c.id, c.app_id, c.batch_id, c.created_at, c.run_at, c.started_at, c.attempt, c.is_expired, c.is_limited,
    c.is_probe, c.timeout_ms, c.rank, c.max_attempts, c.may_have_arrived, c.is_full, c.job_type, c.record_type, c.record_id,
    c.deduplication_id, c.serialize_key, c.correlation_id, c.traceparent, c.payload
from answer a left join claimed c on true
where c.id is not null or not a.is_decided
