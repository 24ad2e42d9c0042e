-- Workers of the version before record the end of a job that was called off as if nobody had asked: one that fails, or is given back, goes on.
-- Nothing says so in its row then, but the mark of a lease that is over. Older workers run on this schema too, and never look at the table.

-- Which jobs were called off while they were processed: what the leader goes through, to find those that go on all the same. One row for each
-- such cancel, taken away when the job is gone; the rows of `jobs` cost nothing more.
create table headgate.cancel_requests (
    job_id uuid primary key,
    -- The lease that the job's row names (`cancel_requested_of`): that of the last cancel.
    assignment_id uuid not null,
    requested_at timestamptz not null default clock_timestamp()
);
