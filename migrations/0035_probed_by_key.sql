-- A job is looked up by its id, thousands of times a second. Where statistics were taken while a table was all but empty, the planner thinks any
-- index alike that has the column somewhere, and took the youngest: all of it was read for each job, until statistics were taken anew. A predicate
-- that always holds, and that a statement about another column alone implies, keeps these indexes out of the choice.
--
-- Workers of the version before still run on this schema.
create index jobs_by_integration_and_id on headgate.jobs (integration_id, id) where integration_id is not null;
drop index headgate.jobs_by_integration;
alter index headgate.jobs_by_integration_and_id rename to jobs_by_integration;

create index jobs_by_correlation_and_id on headgate.jobs (correlation_id, id) where correlation_id is not null;
drop index headgate.jobs_by_correlation;
alter index headgate.jobs_by_correlation_and_id rename to jobs_by_correlation;

create index waiting_due on headgate.waiting (due_at, job_id) where due_at is not null;
alter table headgate.waiting drop constraint waiting_pkey, add constraint waiting_pkey primary key using index waiting_job_key;

create index failing_jobs_due_at on headgate.failing_jobs (due_at, job_id) where due_at is not null;
drop index headgate.failing_jobs_due;
alter index headgate.failing_jobs_due_at rename to failing_jobs_due;

create index failing_jobs_by_integration_and_job on headgate.failing_jobs (integration_id, job_id) where integration_id is not null;
drop index headgate.failing_jobs_by_integration;
alter index headgate.failing_jobs_by_integration_and_job rename to failing_jobs_by_integration;

create index failing_jobs_by_cause_and_job on headgate.failing_jobs (left(fingerprint, 16), job_id) where left(fingerprint, 16) is not null;
drop index headgate.failing_jobs_by_cause;
alter index headgate.failing_jobs_by_cause_and_job rename to failing_jobs_by_cause;

create index integrations_by_app_and_id on headgate.integrations (app_id, id) where app_id is not null;
drop index headgate.integrations_by_app;
alter index headgate.integrations_by_app_and_id rename to integrations_by_app;
