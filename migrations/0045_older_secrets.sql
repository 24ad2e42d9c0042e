-- Secrets that sign beside the newest two: each rotation keeps the one before for 24 hours, however many follow within that time.
--
-- Workers of the version before may still run: they sign with the newest two.
alter table headgate.integrations
    add column older_secrets_sealed bytea[] not null default '{}',
    add column older_secrets_until timestamptz[] not null default '{}',
    add constraint integrations_older_secrets_have_an_end
        check (cardinality(older_secrets_sealed) = cardinality(older_secrets_until));
