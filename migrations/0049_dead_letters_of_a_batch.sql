-- A page of a batch that ended in a million dead letters is walked along an index in the order of the page; before, all of them were sorted
-- for each page. By their own ids, as dead letters are listed, and by those of the jobs, as jobs are.
create index dead_letter_jobs_by_batch_and_id on headgate.dead_letter_jobs (batch_id, id) where batch_id is not null;
create index dead_letter_jobs_by_batch_and_job on headgate.dead_letter_jobs (batch_id, job_id) where batch_id is not null;
drop index headgate.dead_letter_jobs_by_batch;
