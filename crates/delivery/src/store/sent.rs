//! Sent state, written in the transaction that ends the job, so that it is exactly what was accepted.

use model::actor::Scope;
use model::attributes::Attributes;
use model::id::{AppId, IntegrationId};
use model::page::Page;
use model::record::{SentFilter, SentRecord};
use model::record_page::{self, RecordCursor, RecordPageRequest};
use serde_json::Value;
use sqlx::{PgConnection, PgPool, types::Json};

use crate::{DeliveryError, catalog::key::RecordKey};

/// Reads type after type, as [`super::records::list`]: a record's id alone is probed in each.
pub(crate) async fn list(
    pool: &PgPool,
    scope: Scope,
    integration_id: IntegrationId,
    filter: &SentFilter,
    page: &RecordPageRequest,
) -> Result<Page<SentRecord>, DeliveryError> {
    let after = page.after.as_ref();
    let rows = sqlx::query!(
        r#"
        select found.record_type, found.record_id, found.version, found.sent_at, found.attributes as "attributes: Json<Attributes>"
        from (
            select known.record_type from headgate.record_kinds known
            join headgate.integrations i on i.app_id = known.app_id
            where i.id = $1 and ($2::uuid is null or i.app_id = $2) and ($3::text is null or known.record_type = $3)
                and ($5::text is null or known.record_type >= $5)
            order by known.record_type
        ) kind
        cross join lateral (
            select s.* from headgate.sent_records s
            where s.integration_id = $1 and s.record_type = kind.record_type and ($4::text is null or s.record_id = $4)
                and s.record_id > case when kind.record_type = $5 then $6 else '' end
            order by s.record_id
            limit $7
        ) found
        order by kind.record_type, found.record_id
        limit $7
        "#,
        integration_id as IntegrationId,
        scope.app_id() as Option<AppId>,
        filter.record_type.as_deref(),
        filter.record_id.as_deref(),
        after.map(|after| after.record_type.as_str()),
        after.map(|after| after.record_id.as_str()),
        page.limit + 1,
    )
    .fetch_all(pool)
    .await?;
    let sent: Vec<SentRecord> = rows
        .into_iter()
        .map(|row| SentRecord {
            record_type: row.record_type,
            record_id: row.record_id,
            version: row.version,
            sent_at: row.sent_at,
            attributes: row.attributes.0,
        })
        .collect();
    Ok(record_page::from_surplus(sent, page.limit, |sent| RecordCursor {
        app_id: None,
        record_type: sent.record_type.clone(),
        record_id: sent.record_id.clone(),
    }))
}

/// The sent state after an accepted request.
pub(crate) struct Accepted<'a> {
    pub(crate) integration_id: IntegrationId,
    pub(crate) record_type: &'a str,
    pub(crate) record_id: &'a str,
    /// None: a deletion.
    pub(crate) state: Option<(i64, &'a Attributes)>,
}

/// Records what was accepted, in key order, and by how much the number of records in sync changes. Integrations deleted meanwhile are
/// skipped.
///
/// The caller has to have locked the jobs (see [`no_longer_in_sync`]).
pub(crate) async fn record(conn: &mut PgConnection, accepted: &[Accepted<'_>]) -> Result<(), sqlx::Error> {
    if accepted.is_empty() {
        return Ok(());
    }
    let integrations: Vec<uuid::Uuid> = accepted.iter().map(|one| one.integration_id.0).collect();
    let types: Vec<&str> = accepted.iter().map(|one| one.record_type).collect();
    let ids: Vec<&str> = accepted.iter().map(|one| one.record_id).collect();
    let versions: Vec<Option<i64>> = accepted.iter().map(|one| one.state.map(|state| state.0)).collect();
    let attributes: Vec<Option<Json<&Attributes>>> =
        accepted.iter().map(|one| one.state.map(|state| Json(state.1))).collect();
    sqlx::query!(
        r#"
        with accepted as materialized (
            select g.integration_id, g.record_type, g.record_id, g.version, g.attributes,
                coalesce((g.version = r.version)::int, 0) - coalesce((s.version = r.version)::int, 0) as more_in_sync
            from (
                select unnest($1::uuid[]) as integration_id, unnest($2::text[]) as record_type, unnest($3::text[]) as record_id,
                    unnest($4::bigint[]) as version, unnest($5::jsonb[]) as attributes
            ) g
            cross join lateral (
                select i.app_id from headgate.integrations i where i.id = g.integration_id for key share offset 0
            ) p
            left join lateral (
                select r.version from headgate.records r
                where r.app_id = p.app_id and r.record_type = g.record_type and r.record_id = g.record_id and r.deleted_at is null
                offset 0
            ) r on true
            left join lateral (
                select s.version from headgate.sent_records s
                where s.integration_id = g.integration_id and s.record_type = g.record_type and s.record_id = g.record_id
                offset 0
            ) s on true
        ), counted as (
            insert into headgate.in_sync_count_deltas (integration_id, record_type, n)
            select integration_id, record_type, sum(more_in_sync) from accepted
            group by integration_id, record_type
            having sum(more_in_sync) <> 0
        ), certain as (
            delete from headgate.uncertain_records u using accepted a
            where u.integration_id = a.integration_id and u.record_type = a.record_type and u.record_id = a.record_id
        ), gone as (
            delete from headgate.sent_records s using accepted a
            where a.version is null
                and s.integration_id = a.integration_id and s.record_type = a.record_type and s.record_id = a.record_id
        )
        insert into headgate.sent_records as s (integration_id, record_type, record_id, version, attributes)
        select integration_id, record_type, record_id, version, attributes from accepted
        where version is not null
        order by integration_id, record_type, record_id
        on conflict (integration_id, record_type, record_id) do update
        set version = excluded.version, attributes = excluded.attributes, sent_at = clock_timestamp()
        "#,
        &integrations,
        &types as &[&str],
        &ids as &[&str],
        &versions as &[Option<i64>],
        &attributes as &[Option<Json<&Attributes>>],
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A newer version that is equal to what was accepted (the record changed there and back).
pub(crate) struct Advanced<'a> {
    pub(crate) integration_id: IntegrationId,
    pub(crate) record_type: &'a str,
    pub(crate) record_id: &'a str,
    pub(crate) version: i64,
}

/// Raises versions. Nothing was sent, so `sent_at` stays.
pub(crate) async fn advance(conn: &mut PgConnection, advanced: &[Advanced<'_>]) -> Result<(), sqlx::Error> {
    if advanced.is_empty() {
        return Ok(());
    }
    let integrations: Vec<uuid::Uuid> = advanced.iter().map(|one| one.integration_id.0).collect();
    let types: Vec<String> = advanced.iter().map(|one| one.record_type.to_owned()).collect();
    let ids: Vec<String> = advanced.iter().map(|one| one.record_id.to_owned()).collect();
    let versions: Vec<i64> = advanced.iter().map(|one| one.version).collect();
    sqlx::query!(
        r#"
        with advanced as materialized (
            select s.tid, g.integration_id, g.record_type, g.version,
                coalesce((g.version = r.version)::int, 0) - coalesce((s.version = r.version)::int, 0) as more_in_sync
            from (
                select unnest($1::uuid[]) as integration_id, unnest($2::text[]) as record_type, unnest($3::text[]) as record_id,
                    unnest($4::bigint[]) as version
            ) g
            cross join lateral (
                select s.ctid as tid, s.version from headgate.sent_records s
                where s.integration_id = g.integration_id and s.record_type = g.record_type and s.record_id = g.record_id
                    and s.version < g.version
                for update offset 0
            ) s
            cross join lateral (
                select i.app_id from headgate.integrations i where i.id = g.integration_id offset 0
            ) p
            left join lateral (
                select r.version from headgate.records r
                where r.app_id = p.app_id and r.record_type = g.record_type and r.record_id = g.record_id and r.deleted_at is null
                offset 0
            ) r on true
        ), counted as (
            insert into headgate.in_sync_count_deltas (integration_id, record_type, n)
            select integration_id, record_type, sum(more_in_sync) from advanced
            group by integration_id, record_type
            having sum(more_in_sync) <> 0
        )
        update headgate.sent_records s set version = a.version from advanced a where s.ctid = a.tid
        "#,
        &integrations,
        &types,
        &ids,
        &versions,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// What may have arrived without a readable answer.
pub(crate) struct Uncertain<'a> {
    pub(crate) integration_id: IntegrationId,
    pub(crate) record_type: &'a str,
    pub(crate) record_id: &'a str,
    /// The attributes sent; none: all of them, or a deletion.
    pub(crate) attributes: Option<Vec<&'a str>>,
}

/// Records uncertain attributes, in the order given: each record of an integration once, sorted. Integrations deleted meanwhile are skipped.
pub(crate) async fn record_uncertain(
    conn: &mut PgConnection,
    uncertain: &[Uncertain<'_>],
) -> Result<(), sqlx::Error> {
    if uncertain.is_empty() {
        return Ok(());
    }
    let integrations: Vec<uuid::Uuid> = uncertain.iter().map(|one| one.integration_id.0).collect();
    let types: Vec<String> = uncertain.iter().map(|one| one.record_type.to_owned()).collect();
    let ids: Vec<String> = uncertain.iter().map(|one| one.record_id.to_owned()).collect();
    let attributes: Vec<Option<Value>> =
        uncertain.iter().map(|one| one.attributes.as_ref().map(|names| Value::from(names.clone()))).collect();
    sqlx::query!(
        r#"
        with present as materialized (
            select id from headgate.integrations where id = any ($1) order by id for key share
        )
        insert into headgate.uncertain_records as u (integration_id, record_type, record_id, attributes)
        select g.integration_id, g.record_type, g.record_id,
            case when g.attributes is not null then array(select jsonb_array_elements_text(g.attributes)) end
        from unnest($1::uuid[], $2::text[], $3::text[], $4::jsonb[]) with ordinality
            as g (integration_id, record_type, record_id, attributes, n)
        join present p on p.id = g.integration_id
        order by g.n
        on conflict (integration_id, record_type, record_id) do update
        set attributes = case
            when u.attributes is null or excluded.attributes is null then null
            else array(select distinct unnest(u.attributes || excluded.attributes))
        end
        "#,
        &integrations,
        &types,
        &ids,
        &attributes as &[Option<Value>],
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Subtracts records that were live and have changed, with the version they had, from the numbers of those in sync.
///
/// Call it after their jobs were enqueued. The sent state of a record is written by the transaction that finishes its job, and enqueueing
/// waits for that job's row: so either this statement sees what that transaction wrote, or that transaction sees the new version. An
/// integration that takes no jobs (disabled, or of other types) is not waited for: what was still being sent to it may be counted wrongly
/// until the recount.
pub(crate) async fn no_longer_in_sync(
    conn: &mut PgConnection,
    changed: &[(RecordKey, i64)],
) -> Result<(), sqlx::Error> {
    if changed.is_empty() {
        return Ok(());
    }
    let apps: Vec<uuid::Uuid> = changed.iter().map(|(key, _)| key.app_id.0).collect();
    let types: Vec<&str> = changed.iter().map(|(key, _)| key.record_type.as_str()).collect();
    let ids: Vec<&str> = changed.iter().map(|(key, _)| key.record_id.as_str()).collect();
    let versions: Vec<i64> = changed.iter().map(|(_, version)| *version).collect();
    sqlx::query!(
        r#"
        insert into headgate.in_sync_count_deltas (integration_id, record_type, n)
        select i.id, g.record_type, -count(*)
        from (
            select unnest($1::uuid[]) as app_id, unnest($2::text[]) as record_type, unnest($3::text[]) as record_id,
                unnest($4::bigint[]) as version
        ) g
        cross join lateral (
            select i.id from headgate.integrations i where i.app_id = g.app_id and i.integration_type <> 'external' offset 0
        ) i
        cross join lateral (
            select from headgate.sent_records s
            where s.integration_id = i.id and s.record_type = g.record_type and s.record_id = g.record_id and s.version = g.version
            offset 0
        ) s
        group by i.id, g.record_type
        "#,
        &apps,
        &types as &[&str],
        &ids as &[&str],
        &versions,
    )
    .execute(conn)
    .await?;
    Ok(())
}
