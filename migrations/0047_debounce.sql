-- Changes that are gathered until their record is quiet, per integration. Older processes run on this schema: a change they take in goes at once, with
-- what was gathered before it.
alter table headgate.integrations
    add column debounce_seconds int,
    add column debounce_max_seconds int,
    add constraint integrations_debounce_range check (
        (debounce_seconds is null) = (debounce_max_seconds is null)
        and debounce_seconds between 1 and 3600 and debounce_max_seconds between debounce_seconds and 86400
    ) not valid;

-- Until when at the latest it gathers changes: each one that is folded in puts `run_at` off, never beyond this. Null: none, or something in it is
-- urgent.
alter table headgate.jobs add column gathers_until timestamptz;

-- A fold puts `run_at` off in the job's row alone; its entry follows here, when it would have been due: once for each quiet, however many folds.
create or replace function headgate.promote_due(most int) returns int
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan
as $$
declare
    moved int;
begin
    with found as materialized (
        -- The job's row is the lock, not waited for: a fold that is changing its rank, or a cancel, would miss an entry made meanwhile with the
        -- rank of before. It stays in `waiting` until the next round, and what is due behind it is moved; thousands that one producer
        -- holds would keep everything from being moved otherwise. An entry without a job just goes.
        select d.entry, d.job_id, j.integration_id, j.rank, j.created_at, j.status, j.is_held, j.run_at,
            coalesce(j.status = 0 and j.gathers_until is not null and not j.is_held and j.run_at > clock_timestamp(), false) as gathers
        from (
            select w.job_id, w.ctid as entry from headgate.waiting w
            where w.due_at <= (select clock_timestamp())
            order by w.due_at, w.job_id
            limit 8 * most::bigint
        ) d
        left join lateral (
            select j.id, j.integration_id, j.rank, j.created_at, j.status, j.is_held, j.run_at, j.gathers_until
            from headgate.jobs j where j.id = d.job_id
            for update skip locked offset 0
        ) j on true
        where j.id is not null or (select k.id from headgate.jobs k where k.id = d.job_id) is null
        limit most
    ), put_off as (
        update headgate.waiting w set due_at = f.run_at from found f
        where w.ctid = f.entry and f.gathers
    ), gone as materialized (
        -- Where it lies: one that was moved or taken away since it was read is somebody else's.
        delete from headgate.waiting w using found f
        where w.ctid = f.entry and not f.gathers
        returning w.job_id, f.integration_id, f.rank, f.created_at, f.status, f.is_held
    ), promoted as (
        insert into headgate.ready (integration_id, rank, created_at, job_id)
        select integration_id, rank, created_at, job_id from gone where status <> 1 and not is_held
        on conflict do nothing
        returning 1
    )
    select count(*)::int into moved from gone;
    return moved;
end;
$$;
