-- Holds waiting jobs that follow a paused batch: out of `ready` and `waiting`, and marked.
--
-- First the entry, then the job, as the claim does, and neither is waited for: this is part of no deadlock and keeps nobody waiting. What
-- a claim, a fold or a promotion has in its hands right now is passed over and found the next time.
with candidates as materialized (
    select j.id, j.integration_id, j.rank, j.created_at from headgate.jobs j
    where j.batch_id = $1 and j.follows_batch and not j.is_held and j.status <> 1 and j.successor is null
        and exists (select 1 from headgate.batches b where b.id = $1 and b.is_paused)
    order by j.id
    limit $2
), claimable as materialized (
    select c.integration_id, c.rank, c.created_at, c.id
    from candidates c
    cross join lateral (
        select 1 from headgate.ready r
        where r.integration_id = c.integration_id and r.rank = c.rank and r.created_at = c.created_at and r.job_id = c.id
        for update skip locked offset 0
    ) entry
), later as materialized (
    select w.due_at, c.id
    from candidates c
    cross join lateral (
        select w.due_at from headgate.waiting w where w.job_id = c.id
        for update skip locked offset 0
    ) w
), locked as materialized (
    -- A change that came since we looked may have been folded into it. (A job that a race left in both has both entries here.)
    select j.id, e.integration_id, e.rank, e.created_at, e.due_at
    from (
        select id, integration_id, rank, created_at, null::timestamptz as due_at from claimable
        union all
        select id, null, null, null, due_at from later
    ) e
    cross join lateral (
        select j.id from headgate.jobs j
        where j.id = e.id and j.batch_id = $1 and j.follows_batch and not j.is_held and j.status <> 1 and j.successor is null
        for update skip locked offset 0
    ) j
), not_claimable as (
    delete from headgate.ready r using locked l
    where r.integration_id = l.integration_id and r.rank = l.rank and r.created_at = l.created_at and r.job_id = l.id
), not_later as (
    delete from headgate.waiting w using locked l where w.due_at = l.due_at and w.job_id = l.id
), held as (
    update headgate.jobs j set is_held = true from (select distinct id from locked) l where j.id = l.id
)
select count(distinct id) as "held!" from locked
