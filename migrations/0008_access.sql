-- People, keys, what they did, and the views they saved.

create table headgate.users (
    id uuid primary key,
    email text not null,
    name text not null,
    role text not null,
    password_hash text,
    is_disabled boolean not null default false,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    last_sign_in_at timestamptz,
    constraint users_role_known check (role in ('operator', 'support', 'auditor')),
    constraint users_email_form check (email ~ '^[^@\s]+@[^@\s]+$' and char_length(email) <= 254)
);
comment on table headgate.users is 'People who sign in to the console.';
create unique index users_email_key on headgate.users (lower(email));

create table headgate.sessions (
    -- SHA-256 of the token: the cookie's value is never stored.
    token_hash bytea primary key,
    user_id uuid not null references headgate.users (id) on delete cascade,
    created_at timestamptz not null default clock_timestamp(),
    last_seen_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz not null
);
comment on table headgate.sessions is 'Sessions of the console.';
create index sessions_by_user on headgate.sessions (user_id);

create table headgate.sign_in_links (
    token_hash bytea primary key,
    user_id uuid not null references headgate.users (id) on delete cascade,
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz not null,
    used_at timestamptz
);
comment on table headgate.sign_in_links is 'One-time links, printed when a deployment without users starts.';

create table headgate.api_keys (
    id uuid primary key,
    -- The visible part, by which a key is found; the rest is compared in constant time by its hash.
    prefix text not null,
    key_hash bytea not null,
    name text not null,
    role text not null,
    app_id uuid references headgate.apps (id) on delete cascade,
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    constraint api_keys_role_known check (role in ('operator', 'support', 'auditor', 'producer', 'worker', 'portal')),
    constraint api_keys_scope_fits check (
        (role in ('producer', 'portal') and app_id is not null)
        or (role in ('operator', 'support', 'auditor') and app_id is null)
        or role = 'worker'
    )
);
comment on table headgate.api_keys is 'Keys of programs.';
create unique index api_keys_prefix_key on headgate.api_keys (prefix);

create table headgate.sign_in_throttles (
    key text primary key,
    tat_us bigint not null
);
comment on table headgate.sign_in_throttles is 'Failed sign-ins per account and per source network: a GCRA row each.';

create table headgate.audit_log (
    id uuid primary key,
    at timestamptz not null default clock_timestamp(),
    actor_kind text not null,
    actor_id text not null,
    actor_name text not null,
    role text not null,
    app_id uuid,
    action text not null,
    object_kind text not null,
    object_id text,
    before jsonb,
    after jsonb,
    -- The line whose change this one took back, or made again.
    undoes uuid,
    repeats uuid,
    address text,
    request_id text
);
comment on table headgate.audit_log is 'What people and keys changed.';
-- Lines are few: an index for each way to find them costs nothing that matters.
create index audit_log_by_object on headgate.audit_log (object_kind, object_id, id);
-- The lines that belong into the feed of activity: what changed how the deployment works. Single jobs, sign-ins and keys do not.
create index audit_log_notable on headgate.audit_log (id)
where (object_kind in ('app', 'integration', 'worker', 'operation', 'resync', 'rate_limit', 'failure') or action like '%.bulk\_%')
    and action not in ('integration.breaker', 'integration.test');
-- Nothing is taken back twice, however often a button is pressed.
create unique index audit_log_undoes_key on headgate.audit_log (undoes) where undoes is not null;
create index audit_log_by_repeats on headgate.audit_log (repeats, id) where repeats is not null;
create index audit_log_by_action on headgate.audit_log (action, id);
create index audit_log_by_actor on headgate.audit_log (actor_id, id);
create index audit_log_by_actor_name on headgate.audit_log (lower(actor_name), id);
create index audit_log_by_app on headgate.audit_log (app_id, id) where app_id is not null;
create index audit_log_by_object_id on headgate.audit_log (object_id, id) where object_id is not null;
-- audit_log_by_object has the thing's id before the line's, so that a list of one kind would read all lines.
create index audit_log_by_kind on headgate.audit_log (object_kind, id);

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
comment on table headgate.saved_views is 'Saved views of the list of jobs: a name for its filters, order and columns.';
create unique index saved_views_name_key on headgate.saved_views (owner_id, lower(name));
create index saved_views_shared on headgate.saved_views (id) where is_shared;
create index saved_views_alerting_at on headgate.saved_views (id) where alert_at is not null;

-- A pin is its reader's: what one wants in sight is not what all want.
create table headgate.saved_view_pins (
    user_id uuid not null references headgate.users (id) on delete cascade,
    view_id uuid not null references headgate.saved_views (id) on delete cascade,
    primary key (user_id, view_id)
);
comment on table headgate.saved_view_pins is 'Who pinned which saved view.';
create index saved_view_pins_by_view on headgate.saved_view_pins (view_id);

-- Apart from the view, because it is written every few seconds: the leader counts once for all (insight: services/views.rs).
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
comment on table headgate.saved_view_counts is 'What was counted last, of views that somebody pinned or that have a threshold.';
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
