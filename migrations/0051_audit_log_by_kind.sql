-- What was done to things of one kind (`/audit-log?object_kind=…`) is found by it, newest first: the index that has the kind has the thing's id
-- before the line's, so that all lines were read. Processes of the version before run on; who
-- writes there waits while the index is built.
create index audit_log_by_kind on headgate.audit_log (object_kind, id);
