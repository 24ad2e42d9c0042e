-- Which jobs belong into the queue and are not in it, said once: what lets jobs in asks it, and so do the hourly look for what a fault left out
-- and the explanation of why a job does not run.
--
-- A job that waits is in `ready`, or in `waiting` until its time has come, if it is not held and, where it has a serialize key, is the
-- first of its line. Each condition is a sub-query of its own that probes a key: joined, all of `waiting` was read for one job.
--
-- Nothing is rewritten or locked; older processes run on.
create view headgate.unqueued_jobs as
select j.id, j.integration_id, j.rank, j.created_at, coalesce(j.retry_at, j.run_at) as due_at
from headgate.jobs j
where j.status <> 1 and not j.is_held
    and (
        j.serialize_key is null
        or j.id = (select k.head_job_id from headgate.serialize_keys k where k.integration_id = j.integration_id and k.key = j.serialize_key)
    )
    and (select w.job_id from headgate.waiting w where w.job_id = j.id) is null
    and (
        select r.job_id from headgate.ready r
        where r.integration_id = j.integration_id and r.rank = j.rank and r.created_at = j.created_at and r.job_id = j.id
    ) is null;
