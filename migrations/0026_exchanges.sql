-- What went over the wire in an attempt that failed: request, head of the answer, where the time went (model::exchange::Exchange), as a rule
-- 1 kB and never more than some 12. It goes with its attempt. Older processes run on this schema: their attempts have none.
alter table headgate.job_attempts add column exchange jsonb;
