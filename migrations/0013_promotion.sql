-- Promotion touches what it moves. Older workers call the same function.
--
-- Before, it compared each entry's time with a clock that it asked for every one of them: that cannot be looked up in the index, so that a round
-- which found less than it might take read all of `waiting`, however much waited for another day. The clock is asked once now. And entries are
-- deleted where they lie: whatever the planner believed about the table, it could choose to read it whole for that.
create or replace function headgate.promote_due(most int) returns int
language sql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
    with due as materialized (
        select w.due_at, w.job_id, w.ctid as entry from headgate.waiting w
        where w.due_at <= (select clock_timestamp())
        order by w.due_at, w.job_id
        limit most
        for update skip locked
    ), found as materialized (
        -- The job's row too, not waited for: a fold that is changing its rank, or a cancel, would miss an entry made meanwhile
        -- with the rank of before. It stays in `waiting` until the next round. An entry without a job just goes.
        select d.entry, d.job_id, j.integration_id, j.rank, j.created_at, j.status, j.is_held
        from due d
        left join lateral (
            select j.id, j.integration_id, j.rank, j.created_at, j.status, j.is_held from headgate.jobs j where j.id = d.job_id
            for update skip locked offset 0
        ) j on true
        where j.id is not null or (select k.id from headgate.jobs k where k.id = d.job_id) is null
    ), gone as materialized (
        -- Locked since it was read, so that it lies where it lay.
        delete from headgate.waiting w using found f
        where w.ctid = f.entry
        returning w.job_id, f.integration_id, f.rank, f.created_at, f.status, f.is_held
    ), promoted as (
        insert into headgate.ready (integration_id, rank, created_at, job_id)
        select integration_id, rank, created_at, job_id from gone where status <> 1 and not is_held
        on conflict do nothing
        returning 1
    )
    select count(*)::int from gone;
$$;
