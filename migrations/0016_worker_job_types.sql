-- What a process of a program can do, so that two programs of one name, which take each other's jobs and give them back, are told apart.
-- Older workers run on this schema too: they leave it null.

-- The kinds of jobs it has handlers for; null: it does whatever it claims, or does not say.
alter table headgate.workers add column job_types text[];
