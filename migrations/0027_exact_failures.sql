-- Failures by cause stay exact: what an undo brings back had failed before, and the hourly recount proves their counters too. Processes of the
-- version before run on this schema: what they cancel and others bring back has no cause until it fails again, and a round that they lead
-- ends without this part.
alter table headgate.operation_jobs add column fingerprint text;
alter table headgate.recounts add column is_at_failures boolean not null default false;
