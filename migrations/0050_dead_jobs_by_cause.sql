-- A page of the jobs that ended by one cause, or by one cause at one integration, is walked along an index in the order of the page; before, all
-- dead letters of the cause were sorted for each page. Processes of the version before run on; who
-- writes there waits while the index is built.
create index dead_letter_jobs_by_cause_and_job on headgate.dead_letter_jobs (left(fingerprint, 16), job_id);
create index dead_letter_jobs_by_fingerprint_and_job on headgate.dead_letter_jobs (fingerprint, job_id);
