-- Claims up to $2 jobs for worker $1: fair over lanes, urgent first, within limits and caps, each with a lease. $4 and $5 are the lanes of jobs that
-- the worker's process has already, with their numbers: while several lanes have work, none gets more than $3 of its slots. $6 is the id of the
-- claim, $7 the program whose lanes the worker serves (null: those of headgate).
--
-- Claimers of all processes take turns on one advisory lock (class 4711, object 1), taken by the statement before this one. During a turn the number
-- of running jobs can only grow by this claim, so a cap read here is never exceeded. The lock is taken by a statement of its own, so that this one
-- sees what the lock's last owner committed.
--
-- The cost follows what is taken, not what is there: lanes that are closed, asleep, quiet or have an open breaker are not read at all, those at their
-- cap or without rate slots are skipped before any of their jobs is read, and each lane is read only for its share of what is wanted, a second
-- time only where the first did not fill the claim. Rows are carried through several steps, so the columns that later steps read come first:
-- reaching the last of 25 costs more than finding the row.
--
-- One in eight of a lane's jobs is the one that has waited longest behind more urgent ones (`aged_jobs`): urgent work goes first, and
-- nothing starves.
--
-- This part chooses the jobs; `claim_take.sql`, which is appended to it, takes them.
with recursive woken as materialized (
    -- Lanes that got work while they slept. One that is paused or quiet is woken too, and read once it may run.
    delete from headgate.lane_wakes returning integration_id
), awake as materialized (
    -- With many lanes awake, one claim reads those not read for longest, and out of turn some that have urgent work: the first 32 of all, and 32
    -- from a random start on. One more than the limit is read, to know whether there are more.
    select a.* from (
        select l.integration_id, l.last_claimed_at, l.woken_at, l.jobs_per_request, l.limit_keys, l.cap, l.is_probe
        from headgate.runnable_lanes l
        where not l.is_asleep and l.program = coalesce($7::text, '')
        union all
        select l.integration_id, l.last_claimed_at, clock_timestamp(), l.jobs_per_request, l.limit_keys, l.cap, l.is_probe
        from (select distinct w.integration_id from woken w) w
        cross join lateral (
            select x.* from headgate.runnable_lanes x where x.integration_id = w.integration_id and x.is_asleep offset 0
        ) l
        where l.program = coalesce($7::text, '')
    ) a
    order by a.last_claimed_at nulls first, a.integration_id
    limit greatest(64, least(2 * $2::int, 256)) + 1
), turns as materialized (
    select count(*) > m.most as are_taken, m.most
    from (select greatest(64, least(2 * $2::int, 256)) as most) m left join awake on true
    group by m.most
), urgent (integration_id, n) as (
    (
        select f.integration_id, 1
        from (
            select '00000000-0000-0000-0000-000000000000'::uuid as start
            union all
            (select a.integration_id from awake a offset floor(random() * (select count(*) from awake))::int limit 1)
        ) s
        cross join lateral (
            select r.integration_id from headgate.ready r
            where r.rank < 0 and r.integration_id >= s.start
            order by r.integration_id limit 1
        ) f
        where (select are_taken from turns)
    )
    union all
    select f.integration_id, u.n + 1
    from urgent u
    cross join lateral (
        select r.integration_id from headgate.ready r
        where r.rank < 0 and r.integration_id > u.integration_id
        order by r.integration_id limit 1
    ) f
    where u.n < 32
), visited as materialized (
    (select a.* from awake a order by a.last_claimed_at nulls first, a.integration_id limit (select most from turns))
    union
    select l.integration_id, l.last_claimed_at, l.woken_at, l.jobs_per_request, l.limit_keys, l.cap, l.is_probe
    from urgent u
    cross join lateral (select x.* from headgate.runnable_lanes x where x.integration_id = u.integration_id offset 0) l
    where l.program = coalesce($7::text, '')
), tallied as materialized (
    -- How many jobs of each lane run, unfolded deltas included. Grouped instead of joined, because neither side has an index.
    select x.integration_id, max(x.last_claimed_at) as last_claimed_at, max(x.woken_at) as woken_at,
        max(x.jobs_per_request) as jobs_per_request, max(x.limit_keys) as limit_keys, max(x.cap) as cap, bool_or(x.is_probe) as is_probe,
        sum(x.running)::int as running, sum(x.busy)::int as busy
    from (
        select v.integration_id, v.last_claimed_at, v.woken_at, v.jobs_per_request, v.limit_keys, v.cap, v.is_probe, 0::bigint as running,
            0 as busy
        from visited v
        union all
        -- Summed first: there may be a thousand deltas, and sorting them took longer than all the rest.
        select d.integration_id, null, null, null, null, null, null, sum(d.n), 0 from headgate.job_count_deltas d where d.status = 1
        group by d.integration_id
        union all
        select v.integration_id, null, null, null, null, null, null, k.n, 0
        from visited v
        cross join lateral (
            select k.n from headgate.job_counts k where k.integration_id = v.integration_id and k.status = 1 offset 0
        ) k
        union all
        select b.lane, null, null, null, null, null, null, 0, b.n from unnest($4::uuid[], $5::int[]) as b (lane, n)
    ) x
    group by x.integration_id
    having max(x.cap) is not null
), sharing as materialized (
    -- Whether several lanes share a rate limit: integrations of one external account.
    select count(*) > count(distinct k.key) as is_any from tallied t cross join unnest(t.limit_keys) as k (key)
), single_rooms as materialized (
    -- How many jobs each lane may take: its free concurrency, and what its rate limits allow within half a second, so that jobs are not claimed only
    -- to be released.
    -- Where a request bundles several jobs, a claim takes those of one request, and none while as many jobs run as requests may: each request in
    -- flight has at least one job, so there are never too many requests, over all processes.
    select t.integration_id, t.last_claimed_at, t.woken_at, cardinality(t.limit_keys) > 0 as is_limited, t.is_probe,
        least(
            case
                when t.jobs_per_request = 1 then t.cap - t.running
                when t.running < t.cap then t.jobs_per_request
                else 0
            end,
            coalesce(least(r.slots, $2::int)::int * t.jobs_per_request, $2::int),
            $2::int
        ) as room,
        greatest($3::int - t.busy, 0) as share, t.jobs_per_request, r.keys, r.key_slots
    from tallied t
    left join lateral (
        select min(s.slots) as slots, array_agg(s.key) as keys, array_agg(s.slots) as key_slots
        from headgate.claimable_slots s
        where s.key = any (t.limit_keys)
    ) r on t.limit_keys <> '{}'
), rooms as materialized (
    select integration_id, last_claimed_at, woken_at, is_limited, is_probe, room, share, false as gives_way
    from single_rooms s
    where not (select is_any from sharing) or not s.is_limited or s.room <= 0 or s.share <= 0
        or (select r.job_id from headgate.ready r where r.integration_id = s.integration_id limit 1) is null
    union all
    -- Lanes that have work, may take some and share a rate limit divide its slots; those not served for longest get one more. A lane that gets none
    -- gives way to the others and keeps its `last_claimed_at`, so it comes first the next time.
    select d.integration_id, max(d.last_claimed_at), max(d.woken_at), true, bool_or(d.is_probe),
        least(max(d.room), least(min(d.part), $2::int)::int * max(d.jobs_per_request)), max(d.share), coalesce(min(d.part) = 0, false)
    from (
        select s.*, k.slots / count(*) over (partition by k.key) + case
            when row_number() over (partition by k.key order by s.last_claimed_at nulls first, s.integration_id)
                <= k.slots % count(*) over (partition by k.key) then 1
            else 0
        end as part
        from single_rooms s
        left join lateral unnest(s.keys, s.key_slots) as k (key, slots) on true
        where (select is_any from sharing) and s.is_limited and s.room > 0 and s.share > 0
            and (select r.job_id from headgate.ready r where r.integration_id = s.integration_id limit 1) is not null
    ) d
    group by d.integration_id
), quota as materialized (
    select greatest(ceil($2::int::numeric / greatest(count(*), 1)), 1)::int as n from rooms where room > 0
), firsts as materialized (
    -- The most urgent and oldest jobs of each lane: its share of the claim.
    select l.integration_id, c.turn, l.quota, l.room, l.share, c.rank, c.created_at, c.job_id, c.entry, l.last_claimed_at, l.is_limited,
        l.is_probe
    from (select r.*, least(r.room, q.n) as quota from rooms r cross join quota q where r.room > 0) l
    cross join lateral (
        select f.rank, f.created_at, f.job_id, f.entry, row_number() over (order by f.rank, f.created_at, f.job_id)::int as turn
        from (
            select r.rank, r.created_at, r.job_id, r.ctid as entry from headgate.ready r
            where r.integration_id = l.integration_id
            order by r.rank, r.created_at, r.job_id
            limit l.quota
        ) f
    ) c
), fulls as materialized (
    -- Lanes that filled their share, with the last job of it: they may have more.
    select f.*, floor(f.quota / 8.0 + random())::int as aged from firsts f where f.turn = f.quota
), remaining as materialized (
    -- How many jobs each of these lanes is read for again: its part of what is still wanted, or more when urgent jobs wait there.
    select g.are_several, greatest(ceil(($2::int - g.given)::numeric / greatest(h.more, 1)), 0)::int as n,
        ceil($2::int::numeric / greatest(h.urgent, 1))::int as urgent
    from (
        -- Jobs beyond a lane's share of the process are not taken while other lanes wait.
        select count(*) filter (where turn = 1) > 1 as are_several, count(*) filter (where turn <= share) as given from firsts
    ) g, (
        select count(*) filter (where least(room, share) > quota) as more,
            count(*) filter (where least(room, share) > quota and rank < 0) as urgent
        from fulls
    ) h
), seconds as materialized (
    select l.integration_id, l.quota + row_number() over (partition by l.integration_id order by s.rank, s.created_at, s.job_id)::int as turn,
        l.room, l.share, s.rank, s.created_at, s.job_id, s.entry, l.last_claimed_at, l.is_limited, l.is_probe
    from (
        select f.*, least(f.room - f.quota, case when f.rank < 0 then greatest(k.n, k.urgent) else k.n end) as wants
        from fulls f cross join remaining k
    ) l
    cross join lateral (
        select r.rank, r.created_at, r.job_id, r.ctid as entry from headgate.ready r
        where r.integration_id = l.integration_id and (r.rank, r.created_at, r.job_id) > (l.rank, l.created_at, l.job_id)
        order by r.rank, r.created_at, r.job_id
        limit greatest(l.wants, 0)
    ) s
    where l.wants > 0
), aged as materialized (
    select l.integration_id, row_number() over (partition by l.integration_id order by a.created_at, a.job_id)::int as turn, l.room, l.share,
        a.rank, a.created_at, a.job_id, a.entry, l.last_claimed_at, l.is_limited, l.is_probe
    from (
        select f.* from fulls f
        -- No `exists`: the planner may turn it into a join that reads all of `ready` once for every lane (a test found it).
        where f.aged > 0
            and (select r.job_id from headgate.ready r where r.integration_id = f.integration_id and r.rank > f.rank limit 1) is not null
    ) l
    cross join lateral headgate.aged_jobs(l.integration_id, l.rank, l.aged) a
), candidates as materialized (
    -- The merge is fair: the first job of every lane comes before the second of any. Aged jobs take the first places of their lane.
    select f.entry, f.integration_id, f.job_id, f.is_limited, f.is_probe
    from (
        select c.*, c.rank < 0 as goes_first, c.turn + case
            when (select count(*) from aged) = 0 then 0
            else (select count(*) from aged a where a.integration_id = c.integration_id)
        end as place
        from (
            select integration_id, turn, room, share, rank, created_at, job_id, entry, last_claimed_at, is_limited, is_probe
            from firsts
            union all
            select integration_id, turn, room, share, rank, created_at, job_id, entry, last_claimed_at, is_limited, is_probe
            from seconds
        ) c
        union all
        select a.*, true, a.turn from aged a
    ) f
    cross join remaining k
    where f.place <= f.room and (f.place <= f.share or not k.are_several)
    order by f.goes_first desc, f.place, f.last_claimed_at nulls first, f.created_at
    limit $2::int
), tried as materialized (
    -- The job's row is the lock, here and wherever an entry is taken out. It is not waited for: a job that is just being folded into or cancelled is
    -- skipped, so that the claim is part of no deadlock.
    select c.entry, c.is_limited, c.is_probe, j.status, j.due_at, j.is_parked, j.id, c.integration_id, c.job_id
    from candidates c
    left join lateral (
        select j.id, j.status, case when j.status = 2 then j.retry_at else j.run_at end as due_at,
            -- Its batch may have been paused a moment ago: no job of it begins from then on.
            j.is_parked or case
                when j.follows_batch and j.successor is null
                    then coalesce((select b.is_paused from headgate.batches b where b.id = j.batch_id), false)
                else false
            end as is_parked
        from headgate.jobs j where j.id = c.job_id
        for update skip locked offset 0
    ) j on true
), replacements as materialized (
    -- For locked jobs that were skipped, the lane gives as many later ones: otherwise a lane whose first job a producer keeps locked would give
    -- nothing to claims that want one job of it. They are searched not far behind, because each try costs a row, some 4 us of everybody's turn; but
    -- further behind where all tried jobs are locked, or a producer that has a lane's first hundred locked would stop the lane.
    select s.entry, m.is_limited, m.is_probe, s.status, s.due_at, s.is_parked
    from (
        select h.*, case when h.is_all_locked then 1024 / count(*) filter (where h.is_all_locked) over () else 0 end as reach
        from (
            select t.integration_id, bool_or(t.is_limited) as is_limited, bool_or(t.is_probe) as is_probe,
                count(*) filter (where t.id is null) as n, bool_and(t.id is null) as is_all_locked
            from tried t
            group by t.integration_id
        ) h
        where h.n > 0
    ) m
    cross join lateral (
        select r.entry, j.status, j.due_at, j.is_parked
        from (
            select r.ctid as entry, r.job_id from headgate.ready r
            where r.integration_id = m.integration_id and r.ctid <> all (array(select c.entry from candidates c))
            order by r.rank, r.created_at, r.job_id
            limit greatest(8 * m.n + 64, m.reach)
        ) r
        cross join lateral (
            select j.status, case when j.status = 2 then j.retry_at else j.run_at end as due_at,
                j.is_parked or case
                    when j.follows_batch and j.successor is null
                        then coalesce((select b.is_paused from headgate.batches b where b.id = j.batch_id), false)
                    else false
                end as is_parked
            from headgate.jobs j where j.id = r.job_id
            for update skip locked offset 0
        ) j
        limit m.n
    ) s
), locked as materialized (
    select l.entry, l.is_limited, l.is_probe, l.status, l.due_at, l.is_parked,
        -- Evaluated once: a job that becomes due meanwhile is either claimed or put back, never neither.
        (l.status = 0 or l.due_at <= clock_timestamp()) and not l.is_parked as is_due
    from (
        select t.entry, t.is_limited, t.is_probe, t.status, t.due_at, t.is_parked from tried t
        -- An entry without a job is deleted.
        where t.id is not null or (select k.id from headgate.jobs k where k.id = t.job_id) is null
        union all
        select r.entry, r.is_limited, r.is_probe, r.status, r.due_at, r.is_parked from replacements r
    ) l
), examined as (
    select c.integration_id, true as is_served, false as is_idle, false as is_empty, false as is_woken from candidates c
    union all
    select f.integration_id, false, false, false, false from firsts f where f.turn = 1
    union all
    select r.integration_id, false, true, r.room > 0 and r.woken_at < clock_timestamp() - interval '5 seconds', false
    from rooms r where not r.gives_way
    union all
    select w.integration_id, false, false, false, true from woken w
), answer as (
    select true as is_decided
