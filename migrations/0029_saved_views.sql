-- Saved views of the list of jobs: a name for its filters, order and columns, private or shared, pinned by whoever wants it in sight, with a
-- threshold that alerts. Counted by the leader once for all (maintenance/views.rs). Older workers run on this schema: they count nothing.

create table headgate.saved_views (
    id uuid primary key,
    -- Null: an API key made it, or its owner is gone. Then it is shared.
    owner_id uuid references headgate.users (id) on delete set null,
    name text not null,
    -- The query string of the page, and what it narrows to.
    query text not null,
    filter jsonb not null,
    is_shared boolean not null,
    -- Alerts when so many jobs match, or more.
    alert_at int,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    constraint saved_views_name_length check (char_length(name) between 1 and 80),
    constraint saved_views_query_length check (char_length(query) <= 4000),
    constraint saved_views_alert_within check (alert_at between 1 and 10000)
);
create unique index saved_views_name_key on headgate.saved_views (owner_id, lower(name));
create index saved_views_shared on headgate.saved_views (id) where is_shared;
create index saved_views_alerting_at on headgate.saved_views (id) where alert_at is not null;

-- A pin is its reader's: what one wants in sight is not what all want.
create table headgate.saved_view_pins (
    user_id uuid not null references headgate.users (id) on delete cascade,
    view_id uuid not null references headgate.saved_views (id) on delete cascade,
    primary key (user_id, view_id)
);
create index saved_view_pins_by_view on headgate.saved_view_pins (view_id);

-- What was counted last, of views that somebody pinned or that have a threshold. Apart, because it is written every few seconds.
create table headgate.saved_view_counts (
    view_id uuid primary key references headgate.saved_views (id) on delete cascade,
    -- Null: not known. At least so many, when there may be more.
    n bigint,
    is_more boolean not null default false,
    counted_at timestamptz,
    tried_at timestamptz not null,
    -- The last try took longer than it may.
    is_too_wide boolean not null default false,
    -- At the threshold or above it since then.
    alerting_since timestamptz,
    constraint saved_view_counts_count_has_time check ((n is null) = (counted_at is null))
) with (fillfactor = 70);
create index saved_view_counts_alerting on headgate.saved_view_counts (view_id) where alerting_since is not null;

-- Nobody sees the private views of somebody who is gone: they go too, before the shared ones lose their owner.
create function headgate.forget_private_views() returns trigger
language plpgsql
as $$
begin
    delete from headgate.saved_views where owner_id = old.id and not is_shared;
    return old;
end;
$$;
create trigger users_forget_private_views before delete on headgate.users
    for each row execute function headgate.forget_private_views();

-- A shared view whose threshold was reached, and the end of that, are told in the feed.
alter table headgate.system_events drop constraint system_events_kind_known;
alter table headgate.system_events add constraint system_events_kind_known check (kind in ('start', 'version', 'pause', 'alert', 'calm'));
alter table headgate.system_events add column name text;
