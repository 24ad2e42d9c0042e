-- Lanes whose jobs other systems claim are never asleep: nobody needs a note about them. Processes of the version before run on: whoever claims takes
-- away what is left.
create or replace function headgate.wake_lanes() returns trigger
language plpgsql
as $$
begin
    insert into headgate.lane_wakes (integration_id)
    select l.integration_id from headgate.lanes l
    where l.integration_id in (select a.integration_id from added a)
        and not l.is_external
        and (l.is_asleep or l.woken_at < clock_timestamp() - interval '4 seconds');
    return null;
end;
$$;
