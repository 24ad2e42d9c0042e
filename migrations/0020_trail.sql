-- Whatever a person types is found: an app by its name, a job that is about no record by its deduplication id wherever it lies. Older
-- workers run on this schema as they are.

-- Few rows, written by hand: the customer who calls gives a name, or the beginning of one.
create index apps_by_name on headgate.apps (lower(name) text_pattern_ops);

-- Only jobs that are about no record and have an id: changes of records are found by their record, all others have none, and neither costs
-- it anything when a job ends. Ends are not written while it is made: a second for a few million rows, which are read once.
create index finished_jobs_by_deduplication on headgate.finished_jobs (deduplication_id, id)
    where deduplication_id is not null and record_id is null;
create index dead_letter_jobs_by_deduplication on headgate.dead_letter_jobs (deduplication_id, job_id)
    where deduplication_id is not null and record_id is null;
