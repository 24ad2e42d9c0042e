-- The end of every claim: takes the chosen entries (`claim.sql`, `claim_few.sql`) from `ready`, gives leases, and maintains the counters and the
-- lanes' order. It reads these steps of the part before it: `locked`, the entries, whose jobs' rows are locked; `examined`, the lanes; `turns`,
-- whether more lanes are awake than one claim reads; and `answer`, whether the claim was decided.
), taken as materialized (
    -- By `ctid`: entries are never updated, only inserted and deleted, and rows that this statement sees are not vacuumed before it ends, so an entry
    -- stays where it is. One that is gone meanwhile was taken by somebody else.
    delete from headgate.ready r
    using locked c
    where r.ctid = c.entry
    returning r.job_id, c.status, c.is_due, c.is_parked, c.due_at, r.integration_id, c.is_limited, c.is_probe
), claimed as materialized (
    -- By an array, not by a join: with statistics that say there is one job, the join began by reading all of them.
    update headgate.jobs j
    set status = 1, attempt = j.attempt + 1, assignment_id = gen_random_uuid(), worker_id = $1::uuid, started_at = clock_timestamp(),
        retry_at = null, progress = null
    where j.id = any (array(select t.job_id from taken t where t.status <> 1 and t.is_due))
    returning j.integration_id, j.attempt, j.id, j.app_id, j.batch_id, j.assignment_id, j.created_at,
        -- Since when it could have begun. (A caller's `run_at` may be before the year 1, which clients cannot read.)
        greatest(j.run_at, j.created_at) as run_at, j.started_at, coalesce(j.expires_at <= clock_timestamp(), false) as is_expired,
        j.integration_id = any (array(select distinct t.integration_id from taken t where t.is_limited)) as is_limited,
        j.integration_id = any (array(select distinct t.integration_id from taken t where t.is_probe)) as is_probe,
        j.timeout_ms, j.rank, j.max_attempts, j.may_have_arrived, j.is_full, j.job_type, j.record_type, j.record_id, j.deduplication_id,
        j.serialize_key,
        -- The newest one, where changes with several ids were folded into the job.
        coalesce(j.correlation_ids[cardinality(j.correlation_ids)], j.correlation_id) as correlation_id, j.traceparent, j.payload
), put_back as (
    -- An entry that a race (or a clock set back) put into `ready` before its time: the job goes back to `waiting`.
    insert into headgate.waiting (due_at, job_id, integration_id)
    select t.due_at, t.job_id, t.integration_id from taken t
    where t.status = 2 and not t.is_due and not t.is_parked
    on conflict (job_id) do nothing
), parked as (
    -- Jobs of a paused batch have no entry until they are resumed.
    update headgate.jobs j set is_parked = true
    where j.id = any (array(select t.job_id from taken t where t.status <> 1 and t.is_parked))
), counted as (
    -- A job whose attempts were 0 was pending, any other was to be retried.
    insert into headgate.job_count_deltas (integration_id, status, attempt, n)
    select d.integration_id, s.status, s.attempt, s.n
    from (select integration_id, attempt, count(*)::int as n from claimed group by integration_id, attempt) d
    cross join lateral (
        values ((case when d.attempt = 1 then 0 else 2 end)::smallint, (d.attempt - 1)::smallint, -d.n), (1::smallint, d.attempt, d.n)
    ) s (status, attempt, n)
), lanes_updated as (
    -- Served lanes go to the end of the order, and so do those whose jobs were all skipped. Where more lanes are awake than one claim reads, those
    -- that could give nothing go to the end too, while those that were not needed keep their place (a claim that got less than it wanted needed all
    -- of them). Lanes found empty fall asleep, unless they were woken meanwhile. `skip locked`: a transaction that changes a lane must not delay
    -- all claims.
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
            from examined m
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
