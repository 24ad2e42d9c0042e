-- Lanes of jobs that a program with the queue as a library does itself. Older workers run on this schema too: they leave the column null,
-- and never look at it.

-- What the program calls the lane. Its display name may be changed by operators; this may not, or the program would not find it again.
alter table headgate.integrations add column own_lane text;
alter table headgate.integrations
    add constraint integrations_own_lane_external check (own_lane is null or (integration_type = 'external' and not is_built_in));
create unique index integrations_own_lane_key on headgate.integrations (app_id, own_lane) where own_lane is not null;
