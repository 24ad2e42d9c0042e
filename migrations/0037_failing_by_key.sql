-- As 0035, for live jobs whose last attempt failed: in an outage there are many where there were none.
create index failing_jobs_due_at on headgate.failing_jobs (due_at, job_id) where due_at is not null;
create index failing_jobs_by_integration_and_job on headgate.failing_jobs (integration_id, job_id) where integration_id is not null;
create index failing_jobs_by_cause_and_job on headgate.failing_jobs (left(fingerprint, 16), job_id) where left(fingerprint, 16) is not null;
drop index headgate.failing_jobs_due, headgate.failing_jobs_by_integration, headgate.failing_jobs_by_cause;
alter index headgate.failing_jobs_due_at rename to failing_jobs_due;
alter index headgate.failing_jobs_by_integration_and_job rename to failing_jobs_by_integration;
alter index headgate.failing_jobs_by_cause_and_job rename to failing_jobs_by_cause;
