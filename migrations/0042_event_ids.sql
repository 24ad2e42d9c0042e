-- The ids of events that were accepted, for as long as one makes its event idempotent. No reference to the app: that would be looked up for
-- each event, and the rows go by their age. Processes of the version before run on this schema, and remember none.
create table headgate.event_ids (
    app_id uuid not null,
    id text not null,
    accepted_at timestamptz not null default clock_timestamp(),
    primary key (app_id, id)
);
create index event_ids_by_age on headgate.event_ids (accepted_at);
