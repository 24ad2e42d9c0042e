//! What an external system has: written in the transaction that ends the job, so that it says exactly what was accepted.

use model::{
    actor::Scope,
    id::{AppId, IntegrationId},
    page::Page,
    record::{Attributes, SentRecord},
};
use serde_json::Value;
use sqlx::{PgConnection, PgPool, types::Json};

use crate::{
    DeliveryError,
    record_page::{self, RecordCursor, RecordPageRequest},
};

/// Which of an integration's sent records a list shows.
#[derive(Clone, Debug, Default)]
pub struct SentFilter {
    /// Of one type.
    pub record_type: Option<String>,
    /// One record.
    pub record_id: Option<String>,
}

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
        select s.record_type, s.record_id, s.version, s.sent_at, s.attributes as "attributes: Json<Attributes>"
        from headgate.sent_records s
        join headgate.integrations i on i.id = s.integration_id
        where s.integration_id = $1 and ($2::uuid is null or i.app_id = $2) and ($3::text is null or s.record_type = $3)
            and ($4::text is null or s.record_id = $4)
            and ($5::text is null or (s.record_type, s.record_id) > ($5, $6))
        order by s.record_type, s.record_id
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

/// What one accepted request leaves behind.
pub(crate) struct Accepted<'a> {
    pub(crate) integration_id: IntegrationId,
    pub(crate) record_type: &'a str,
    pub(crate) record_id: &'a str,
    /// None: a deletion.
    pub(crate) state: Option<(i64, &'a Attributes)>,
}

/// Records what was accepted, in key order. An integration that was deleted meanwhile is passed over: its foreign key must not take the
/// other jobs of the batch down with it.
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
            select g.integration_id, g.record_type, g.record_id, g.version, g.attributes
            from (
                select unnest($1::uuid[]) as integration_id, unnest($2::text[]) as record_type, unnest($3::text[]) as record_id,
                    unnest($4::bigint[]) as version, unnest($5::jsonb[]) as attributes
            ) g
            cross join lateral (
                select i.id from headgate.integrations i where i.id = g.integration_id for key share offset 0
            ) p
        ), sure as (
            delete from headgate.unsure_records u using accepted a
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

/// A newer version that is the same as what was accepted (the record changed there and back).
pub(crate) struct Advanced<'a> {
    pub(crate) integration_id: IntegrationId,
    pub(crate) record_type: &'a str,
    pub(crate) record_id: &'a str,
    pub(crate) version: i64,
}

/// Raises versions; nothing was sent, so when it was sent stays.
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
        update headgate.sent_records s set version = g.version
        from unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[]) as g (integration_id, record_type, record_id, version)
        where s.integration_id = g.integration_id and s.record_type = g.record_type and s.record_id = g.record_id
            and s.version < g.version
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

/// What may have arrived although it was not accepted.
pub(crate) struct Unsure<'a> {
    pub(crate) integration_id: IntegrationId,
    pub(crate) record_type: &'a str,
    pub(crate) record_id: &'a str,
    /// The attributes told; none: all of them, or a deletion.
    pub(crate) attributes: Option<Vec<&'a str>>,
}

/// Remembers doubts, in the order given: each record of an integration once, sorted. Integrations deleted meanwhile are passed over.
pub(crate) async fn remember_unsure(
    conn: &mut PgConnection,
    unsure: &[Unsure<'_>],
) -> Result<(), sqlx::Error> {
    if unsure.is_empty() {
        return Ok(());
    }
    let integrations: Vec<uuid::Uuid> = unsure.iter().map(|one| one.integration_id.0).collect();
    let types: Vec<String> = unsure.iter().map(|one| one.record_type.to_owned()).collect();
    let ids: Vec<String> = unsure.iter().map(|one| one.record_id.to_owned()).collect();
    let attributes: Vec<Option<Value>> =
        unsure.iter().map(|one| one.attributes.as_ref().map(|names| Value::from(names.clone()))).collect();
    sqlx::query!(
        r#"
        with present as materialized (
            select id from headgate.integrations where id = any ($1) order by id for key share
        )
        insert into headgate.unsure_records as u (integration_id, record_type, record_id, attributes)
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

/// How many records are in sync, by comparing versions: exact, and dear in proportion to the catalog.
pub(crate) async fn count_in_sync(
    pool: &PgPool,
    app_id: AppId,
    integration_id: IntegrationId,
    types: Option<&[String]>,
) -> Result<i64, DeliveryError> {
    let in_sync = sqlx::query_scalar!(
        r#"
        select count(*) as "n!"
        from headgate.sent_records s
        join headgate.records r
            on r.app_id = $1 and r.record_type = s.record_type and r.record_id = s.record_id and r.version = s.version
        where s.integration_id = $2 and r.deleted_at is null and ($3::text[] is null or s.record_type = any ($3))
        "#,
        app_id as AppId,
        integration_id as IntegrationId,
        types,
    )
    .fetch_one(pool)
    .await?;
    Ok(in_sync)
}

/// Whether anything was ever accepted.
pub(crate) async fn has_any(pool: &PgPool, integration_id: IntegrationId) -> Result<bool, DeliveryError> {
    let has_any = sqlx::query_scalar!(
        r#"select exists (select from headgate.sent_records where integration_id = $1) as "has_any!""#,
        integration_id as IntegrationId,
    )
    .fetch_one(pool)
    .await?;
    Ok(has_any)
}
