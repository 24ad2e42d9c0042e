-- Parks those of the jobs $2 that wait and follow the paused batch $1: removes their entries from `ready` and `waiting` and marks them.
--
-- The job's row is the lock, as for the claim. It is not waited for, so that this is part of no deadlock and delays nobody: jobs that a claim, a
-- fold or a promotion has locked are skipped and found the next time.
with locked as materialized (
    -- Checked again: a change may have been folded into the job since its id was read.
    select j.id, j.integration_id, j.rank, j.created_at
    from unnest($2::uuid[]) as c (id)
    cross join lateral (
        select j.id, j.integration_id, j.rank, j.created_at from headgate.jobs j
        where j.id = c.id and j.batch_id = $1 and j.follows_batch and not j.is_parked and j.status <> 1 and j.successor is null
        for update skip locked offset 0
    ) j
    where exists (select 1 from headgate.batches b where b.id = $1 and b.is_paused)
), not_claimable as (
    delete from headgate.ready r using locked l
    where r.integration_id = l.integration_id and r.rank = l.rank and r.created_at = l.created_at and r.job_id = l.id
), not_later as (
    delete from headgate.waiting w using locked l where w.job_id = l.id
), parked as (
    update headgate.jobs j set is_parked = true from locked l where j.id = l.id
)
select count(*) as "parked!" from locked
