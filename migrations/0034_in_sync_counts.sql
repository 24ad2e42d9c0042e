-- How many records each integration has in their current version, without counting them: deltas appended by whoever changes a record or
-- records what was accepted, folded by the leader, as with `record_counts`. Comparing versions at each question took 51 ms for 100,000
-- records.
--
-- A process older than this migration appends none: what it sends and takes in beside newer ones is put right by the hourly recount.
create table headgate.in_sync_counts (
    integration_id uuid not null,
    record_type text not null,
    n bigint not null,
    primary key (integration_id, record_type)
) with (fillfactor = 50);
create table headgate.in_sync_count_deltas (
    integration_id uuid not null,
    record_type text not null,
    n int not null
);

insert into headgate.in_sync_counts (integration_id, record_type, n)
select s.integration_id, s.record_type, count(*)
from headgate.sent_records s
join headgate.integrations i on i.id = s.integration_id
join headgate.records r on r.app_id = i.app_id and r.record_type = s.record_type and r.record_id = s.record_id
where r.version = s.version and r.deleted_at is null
group by s.integration_id, s.record_type;

create or replace function headgate.forget_sent() returns trigger
language plpgsql
as $$
begin
    delete from headgate.sent_records where integration_id = old.id;
    -- In the order in which a fold locks.
    delete from headgate.in_sync_count_deltas where integration_id = old.id;
    delete from headgate.in_sync_counts where integration_id = old.id;
    return null;
end;
$$;
