-- When what a record holds occurred at its source, as far as events said (`catalog/times.rs`); null: none did. Processes of the version
-- before run on this schema, and leave the times as they are.
alter table headgate.records add column occurred jsonb;
