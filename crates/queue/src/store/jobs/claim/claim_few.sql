-- The usual claim of a system that is not busy: so few jobs are ready that all of those that may run can be taken, and nothing has to be divided. It
-- decides as `claim.sql` does, without everything that this case does not need: to start that statement takes Postgres longer than to run it.
--
-- It takes all or nothing. Where more is ready than it reads, a lane cannot give all it has, or two lanes share a rate limit, some jobs have to
-- wait, and `claim.sql` decides which: this statement returns one row of nulls then.
with few as materialized (
    -- One more than may be taken, to know whether there are more. In the order of the index, because the table may begin with pages of entries that
    -- were taken long ago.
    select r.integration_id, r.job_id, r.ctid as entry from headgate.ready r
    order by r.integration_id, r.rank, r.created_at, r.job_id
    limit least($2::int, 32) + 1
), runnable as materialized (
    select f.integration_id, f.n, l.cap, l.limit_keys, l.jobs_per_request, l.is_probe, l.is_asleep
    from (select f.integration_id, count(*)::int as n from few f group by f.integration_id) f
    cross join lateral (
        select x.* from headgate.runnable_lanes x where x.integration_id = f.integration_id offset 0
    ) l
    where l.program = coalesce($7::text, '')
), running as materialized (
    select d.integration_id, sum(d.n)::int as n from headgate.job_count_deltas d where d.status = 1 group by d.integration_id
), rooms as materialized (
    -- As `single_rooms` of `claim.sql`. A lane without room is at its cap or has no rate slots: none of its jobs can be claimed.
    select r.integration_id, r.n, r.is_probe, r.is_asleep, r.limit_keys, cardinality(r.limit_keys) > 0 as is_limited,
        least(
            case
                when r.jobs_per_request = 1 then r.cap - r.running
                when r.running < r.cap then r.jobs_per_request
                else 0
            end,
            case when r.limit_keys <> '{}' then (
                select least(min(s.slots), $2::int)::int * r.jobs_per_request
                from headgate.claimable_slots s
                where s.key = any (r.limit_keys)
            ) end
        ) as room,
        $3::int - coalesce((
            select b.n from unnest($4::uuid[], $5::int[]) as b (lane, n) where b.lane = r.integration_id
        ), 0) as share
    from (
        select l.*, coalesce((select sum(k.n) from headgate.job_counts k where k.integration_id = l.integration_id and k.status = 1), 0)::int
            + coalesce((select d.n from running d where d.integration_id = l.integration_id), 0) as running
        from runnable l
    ) r
), answer as materialized (
    select c.n = 0 or c.n <= least($2::int, 32) and r.are_given and l.are_single as is_decided
    from (select count(*) as n from few) c, (
        select coalesce(bool_and(o.n <= o.room) and (count(*) = 1 or bool_and(o.n <= o.share)), true) as are_given
        from rooms o where o.room > 0
    ) r, (
        select count(*) = count(distinct k.key) as are_single
        from rooms o cross join unnest(o.limit_keys) as k (key) where o.room > 0
    ) l
), woken as materialized (
    -- Only where this statement decides: otherwise the rows are for `claim.sql`.
    delete from headgate.lane_wakes where (select is_decided from answer) returning integration_id
), chosen as materialized (
    select r.* from rooms r where r.room > 0 and (select is_decided from answer)
), locked as materialized (
    select f.entry, c.is_limited, c.is_probe, j.status, j.due_at, j.is_parked,
        (j.status = 0 or j.due_at <= clock_timestamp()) and not j.is_parked as is_due
    from chosen c
    join few f on f.integration_id = c.integration_id
    left join lateral (
        select j.id, j.status, case when j.status = 2 then j.retry_at else j.run_at end as due_at,
            -- As in `claim.sql`.
            j.is_parked or case
                when j.follows_batch and j.successor is null
                    then coalesce((select b.is_paused from headgate.batches b where b.id = j.batch_id), false)
                else false
            end as is_parked
        from headgate.jobs j where j.id = f.job_id
        for update skip locked offset 0
    ) j on true
    -- An entry without a job is deleted.
    where j.id is not null or (select k.id from headgate.jobs k where k.id = f.job_id) is null
), examined as (
    -- Where nothing is divided, no lane goes to the end of the order.
    select c.integration_id, false as is_served, false as is_idle, false as is_empty, true as is_woken from chosen c where c.is_asleep
    union all
    select w.integration_id, false, false, false, true from woken w
), turns as (
    select false as are_taken
