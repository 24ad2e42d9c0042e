-- A job is looked up by its id, thousands of times a second. Where statistics were taken while a table was all but empty, the planner thinks any
-- index alike that has the column somewhere, and took the youngest: all of it was read for each job, until statistics were taken anew. A predicate
-- that always holds, and that a statement about another column alone implies, keeps these indexes out of the choice.
--
-- Workers of the version before run on this schema; while it is applied they wait for a second or so per million live jobs.
create index jobs_by_integration_and_id on headgate.jobs (integration_id, id) where integration_id is not null;
create index jobs_by_correlation_and_id on headgate.jobs (correlation_id, id) where correlation_id is not null;
drop index headgate.jobs_by_integration, headgate.jobs_by_correlation;
alter index headgate.jobs_by_integration_and_id rename to jobs_by_integration;
alter index headgate.jobs_by_correlation_and_id rename to jobs_by_correlation;
