-- People, keys and what they did. First release: no older worker exists.

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
create unique index users_email_key on headgate.users (lower(email));

create table headgate.sessions (
    -- SHA-256 of the token: the cookie's value is never stored.
    token_hash bytea primary key,
    user_id uuid not null references headgate.users (id) on delete cascade,
    created_at timestamptz not null default clock_timestamp(),
    last_seen_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz not null
);
create index sessions_by_user on headgate.sessions (user_id);

-- One-time links printed at the start of a deployment without users.
create table headgate.sign_in_links (
    token_hash bytea primary key,
    user_id uuid not null references headgate.users (id) on delete cascade,
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz not null,
    used_at timestamptz
);

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
create unique index api_keys_prefix_key on headgate.api_keys (prefix);

-- Failed sign-ins per account and per source network: a GCRA row each.
create table headgate.sign_in_throttles (
    key text primary key,
    tat_us bigint not null
);

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
    address text,
    request_id text
);
create index audit_log_by_object on headgate.audit_log (object_kind, object_id, id);
