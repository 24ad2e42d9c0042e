-- What each limit lets go within half a second: both claims ask. Older processes do not.
create view headgate.claimable_slots as
select x.key, case
    when greatest(x.tat_us, x.hold_until_us) > c.now_us + 500000 then 0
    else (c.now_us + 500000 - greatest(x.tat_us, x.hold_until_us, c.now_us)) / x.emission_us + 1
end as slots
from headgate.rate_limits x, (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now_us) c;
