-- Jobs that expired are found wherever they wait, not only where a claim takes them. Older workers run on this schema too: what they
-- claim they end as they did.

-- Jobs are not written while it is made: a second for a few million rows, which are read once.
-- Only jobs that expire: the others cost it nothing, neither when they are made nor when they end. It says nothing of the status, which each
-- claim changes: an index that did, even in its condition, would make every claim write all indexes of the row.
create index jobs_expiring on headgate.jobs (expires_at, id) where expires_at is not null;
