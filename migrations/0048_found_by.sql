-- What lists of jobs find by a probe where they read one row after the other: a record's id without its type, and the dead letters among the
-- jobs of an integration, an app, a correlation id. Dead letters are written rarely, and no other table has a new index. Older processes run on this schema as before.

-- The pairs of app and type that there are records of.
create view headgate.record_kinds as
    select app_id, record_type from headgate.record_counts
    union
    select app_id, record_type from headgate.record_count_deltas;

-- As `queue::store::jobs::deduplication_id` makes it.
create function headgate.record_deduplication_id(record_type text, record_id text) returns text
language sql immutable parallel safe
return case
    when char_length('headgate:record:' || replace(replace(record_type, '%', '%25'), ':', '%3A') || ':' || record_id) <= 255
        then 'headgate:record:' || replace(replace(record_type, '%', '%25'), ':', '%3A') || ':' || record_id
    else 'headgate:record#' || encode(sha256(convert_to(
        'headgate:record:' || replace(replace(record_type, '%', '%25'), ':', '%3A') || ':' || record_id, 'UTF8')), 'hex')
end;

-- Lists of jobs are in the order of the jobs' ids; those of dead letters go by their own.
create index dead_letter_jobs_by_integration_and_job on headgate.dead_letter_jobs (integration_id, job_id);
create index dead_letter_jobs_by_correlation_and_job on headgate.dead_letter_jobs (correlation_id, job_id);
create index dead_letter_jobs_by_record_and_job on headgate.dead_letter_jobs (app_id, record_type, record_id, job_id)
    where record_id is not null;
drop index headgate.dead_letter_jobs_by_record;
alter index headgate.dead_letter_jobs_by_record_and_job rename to dead_letter_jobs_by_record;
