-- As 0035, for jobs that wait for their time, whose key becomes the job's id.
create index waiting_due on headgate.waiting (due_at, job_id) where due_at is not null;
alter table headgate.waiting drop constraint waiting_pkey, add constraint waiting_pkey primary key using index waiting_job_key;
