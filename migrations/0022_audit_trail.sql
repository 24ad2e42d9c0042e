-- Finding what somebody did, and what took it back. Lines are few: these indexes cost nothing that matters. Older processes run on this
-- schema: the new columns may be null.

-- The line whose change this one took back, or made again.
alter table headgate.audit_log add column undoes uuid;
alter table headgate.audit_log add column repeats uuid;
-- Nothing is taken back twice, however often a button is pressed.
create unique index audit_log_undoes_key on headgate.audit_log (undoes) where undoes is not null;
create index audit_log_by_repeats on headgate.audit_log (repeats, id) where repeats is not null;

create index audit_log_by_action on headgate.audit_log (action, id);
create index audit_log_by_actor on headgate.audit_log (actor_id, id);
create index audit_log_by_actor_name on headgate.audit_log (lower(actor_name), id);
create index audit_log_by_app on headgate.audit_log (app_id, id) where app_id is not null;
create index audit_log_by_object_id on headgate.audit_log (object_id, id) where object_id is not null;
