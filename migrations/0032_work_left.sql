-- Whether something claimable is left after a claim: then a job that ends makes room for another one, of its process or of its lane, and the
-- next claim is worth making. When nothing is, every end of a job asked for a claim that found nothing. Older processes do not call it.
create function headgate.is_work_left(program text) returns boolean
language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan
as $$
begin
    return exists (
        select from headgate.runnable_lanes l
        where not l.is_asleep and l.program = coalesce($1, '')
            -- No `exists`: see `claim.sql`.
            and (select r.job_id from headgate.ready r where r.integration_id = l.integration_id limit 1) is not null
    );
end;
$$;
