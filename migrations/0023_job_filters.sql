-- Filters of lists that had to walk through all rows: the answer of dead letters, and cancelled jobs among ten million completed ones. Dead letters
-- are written rarely, and completed jobs are in neither index. Older processes run on this schema as before.

create index dead_letter_jobs_by_answer on headgate.dead_letter_jobs (response_status, job_id) where response_status is not null;
create index finished_jobs_cancelled on headgate.finished_jobs (id) where status = 4;
