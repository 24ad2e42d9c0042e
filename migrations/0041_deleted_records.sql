-- Deleted records by their age: retention forgets them, and looks at no others. Processes of the version before run on this schema; writes of
-- records wait while the index is made (the table is read once).
create index records_deleted on headgate.records (deleted_at, app_id, record_type, record_id) where deleted_at is not null;
