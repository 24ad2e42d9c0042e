-- When the job may be due again, at the earliest: known to be in the past for one that is being tried, and for all rows of before.
alter table headgate.failing_jobs add column due_at timestamptz not null default '-infinity';
-- Jobs to be retried, of all integrations and of one, in the order of lists; and those of them that are due.
create index failing_jobs_due on headgate.failing_jobs (due_at, job_id);
create index failing_jobs_by_integration on headgate.failing_jobs (integration_id, job_id);

-- A row whose time alone changed is in the group it was in.
create or replace function headgate.note_failing() returns trigger
language plpgsql
as $$
begin
    case tg_op
        when 'INSERT' then
            insert into headgate.failure_deltas (fingerprint, integration_id, waiting)
            select fingerprint, integration_id, count(*) from came group by fingerprint, integration_id;
        when 'DELETE' then
            insert into headgate.failure_deltas (fingerprint, integration_id, waiting)
            select fingerprint, integration_id, -count(*) from went group by fingerprint, integration_id;
        else
            insert into headgate.failure_deltas (fingerprint, integration_id, waiting)
            select fingerprint, integration_id, sum(n)
            from (
                select fingerprint, integration_id, 1 as n from came
                union all
                select fingerprint, integration_id, -1 from went
            ) moved
            group by fingerprint, integration_id
            having sum(n) <> 0;
    end case;
    return null;
end;
$$;
