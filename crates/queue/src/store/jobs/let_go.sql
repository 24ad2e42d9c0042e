-- Lets held jobs of a batch that is not paused stand in line again, at the place of their age.
with found as materialized (
    select j.id, j.integration_id, j.rank, j.created_at, case when j.status = 2 then j.retry_at else j.run_at end as due_at,
        clock_timestamp() as now
    from headgate.jobs j
    where j.batch_id = $1 and j.is_held and not exists (select 1 from headgate.batches b where b.id = $1 and b.is_paused)
    order by j.id
    limit $2
    for update of j skip locked
), freed as (
    update headgate.jobs j set is_held = false from found f where j.id = f.id
), later as (
    insert into headgate.waiting (due_at, job_id, integration_id)
    select due_at, id, integration_id from found where due_at > now
    on conflict (job_id) do update set due_at = excluded.due_at
), now_ready as (
    insert into headgate.ready (integration_id, rank, created_at, job_id)
    select integration_id, rank, created_at, id from found where due_at <= now
    on conflict do nothing
)
select count(*) as "freed!" from found
