-- As 0035, for integrations: looked up by their id with each job that is enqueued.
create index integrations_by_app_and_id on headgate.integrations (app_id, id) where app_id is not null;
drop index headgate.integrations_by_app;
alter index headgate.integrations_by_app_and_id rename to integrations_by_app;
