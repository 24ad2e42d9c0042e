-- What `headgate.promote_due` does, for jobs given by id: used when it failed, to find the job that it failed for.
with due as materialized (
    select w.due_at, w.job_id, w.ctid as entry from headgate.waiting w
    where w.job_id = any ($1::uuid[]) and w.due_at <= clock_timestamp() and (select headgate.is_leader($2, $3))
    order by w.due_at, w.job_id
    for update skip locked
), found as materialized (
    select d.entry, d.job_id, j.integration_id, j.rank, j.created_at, j.status, j.is_parked, j.run_at,
        coalesce(j.status = 0 and j.gathers_until is not null and not j.is_parked and j.run_at > clock_timestamp(), false) as gathers
    from due d
    left join lateral (
        select j.id, j.integration_id, j.rank, j.created_at, j.status, j.is_parked, j.run_at, j.gathers_until
        from headgate.jobs j where j.id = d.job_id
        for update skip locked offset 0
    ) j on true
    where j.id is not null or not exists (select 1 from headgate.jobs k where k.id = d.job_id)
), postponed as (
    update headgate.waiting w set due_at = f.run_at from found f
    where w.ctid = f.entry and f.gathers
), gone as materialized (
    delete from headgate.waiting w using found f
    where w.ctid = f.entry and not f.gathers
    returning w.job_id, f.integration_id, f.rank, f.created_at, f.status, f.is_parked
), promoted as (
    insert into headgate.ready (integration_id, rank, created_at, job_id)
    select integration_id, rank, created_at, job_id from gone where status <> 1 and not is_parked
    on conflict do nothing
)
select count(*)::int as "count!" from gone
