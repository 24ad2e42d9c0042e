//! The writes of `accept_events`: rows are held in key order, read in portions, written set-based.

use chrono::{DateTime, Utc};
use model::{
    id::{AppId, IntegrationId},
    record::Attributes,
};
use serde_json::Value;
use sqlx::{PgConnection, types::Json};

use crate::{DeliveryError, catalog::key::RecordKey};

/// A record held until the end of the transaction.
pub(crate) struct HeldRecord {
    pub(crate) app_id: AppId,
    pub(crate) record_type: String,
    pub(crate) record_id: String,
    pub(crate) version: i64,
    pub(crate) attribute_bytes: i32,
    pub(crate) is_deleted: bool,
}

/// Keys as the three arrays every statement takes.
pub(crate) struct KeyColumns {
    apps: Vec<uuid::Uuid>,
    types: Vec<String>,
    ids: Vec<String>,
}

impl KeyColumns {
    pub(crate) fn of<'a>(keys: impl IntoIterator<Item = &'a RecordKey>) -> Self {
        let mut columns = Self { apps: Vec::new(), types: Vec::new(), ids: Vec::new() };
        for key in keys {
            columns.apps.push(key.app_id.0);
            columns.types.push(key.record_type.clone());
            columns.ids.push(key.record_id.clone());
        }
        columns
    }
}

/// The apps that exist, each held against its deletion.
pub(crate) async fn hold_apps(
    conn: &mut PgConnection,
    ids: &[uuid::Uuid],
) -> Result<Vec<AppId>, DeliveryError> {
    let apps = sqlx::query_scalar!(
        r#"select id as "id: AppId" from headgate.apps where id = any ($1) order by id for key share"#,
        ids,
    )
    .fetch_all(conn)
    .await?;
    Ok(apps)
}

/// An integration that record changes may make jobs for.
pub(crate) struct Interested {
    pub(crate) id: IntegrationId,
    pub(crate) app_id: AppId,
    record_types: Option<Vec<String>>,
    pub(crate) timeout_ms: Option<i32>,
    pub(crate) max_attempts: Option<i16>,
    /// Of a bundle: when its changes are due.
    pub(crate) window_ends_at: Option<DateTime<Utc>>,
}

impl Interested {
    pub(crate) fn wants(&self, key: &RecordKey) -> bool {
        self.app_id == key.app_id
            && self.record_types.as_ref().is_none_or(|types| types.contains(&key.record_type))
    }
}

/// The integrations of these apps that take record changes, each held against its deletion: a job must not be left without its
/// integration. Paused ones collect; disabled ones do not.
pub(crate) async fn hold_interested(
    conn: &mut PgConnection,
    apps: &[uuid::Uuid],
) -> Result<Vec<Interested>, DeliveryError> {
    let interested = sqlx::query_as!(
        Interested,
        r#"
        select id as "id: IntegrationId", app_id as "app_id: AppId", record_types, timeout_ms, max_attempts,
            headgate.window_ends_at(bundle_window_seconds) as window_ends_at
        from headgate.integrations
        where app_id = any ($1) and state <> 'disabled' and integration_type <> 'external'
        order by id
        for key share
        "#,
        apps,
    )
    .fetch_all(conn)
    .await?;
    Ok(interested)
}

/// Holds those of the records that exist, in key order.
pub(crate) async fn hold_records(
    conn: &mut PgConnection,
    keys: &KeyColumns,
) -> Result<Vec<HeldRecord>, DeliveryError> {
    let held = sqlx::query_as!(
        HeldRecord,
        r#"
        select r.app_id as "app_id: AppId", r.record_type, r.record_id, r.version, r.attribute_bytes,
            r.deleted_at is not null as "is_deleted!"
        from headgate.records r
        join unnest($1::uuid[], $2::text[], $3::text[]) as k (app_id, record_type, record_id)
            on k.app_id = r.app_id and k.record_type = r.record_type and k.record_id = r.record_id
        order by r.app_id, r.record_type, r.record_id
        for update of r
        "#,
        &keys.apps,
        &keys.types,
        &keys.ids,
    )
    .fetch_all(conn)
    .await?;
    Ok(held)
}

/// The attributes of held records.
pub(crate) async fn read_attributes(
    conn: &mut PgConnection,
    keys: &KeyColumns,
) -> Result<Vec<(RecordKey, Attributes)>, DeliveryError> {
    let rows = sqlx::query!(
        r#"
        select r.app_id as "app_id: AppId", r.record_type, r.record_id, r.attributes as "attributes: Json<Attributes>"
        from headgate.records r
        join unnest($1::uuid[], $2::text[], $3::text[]) as k (app_id, record_type, record_id)
            on k.app_id = r.app_id and k.record_type = r.record_type and k.record_id = r.record_id
        "#,
        &keys.apps,
        &keys.types,
        &keys.ids,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let key =
                RecordKey { app_id: row.app_id, record_type: row.record_type, record_id: row.record_id };
            (key, row.attributes.0)
        })
        .collect())
}

/// A record as it is after a request's events.
pub(crate) struct Written {
    pub(crate) key: RecordKey,
    pub(crate) version: i64,
    pub(crate) attributes: Attributes,
    pub(crate) attribute_bytes: i32,
    pub(crate) is_deleted: bool,
}

struct WrittenColumns {
    keys: KeyColumns,
    versions: Vec<i64>,
    attributes: Vec<Value>,
    bytes: Vec<i32>,
    deleted: Vec<bool>,
}

impl WrittenColumns {
    fn of(rows: Vec<Written>) -> Self {
        let mut columns = Self {
            keys: KeyColumns::of(rows.iter().map(|row| &row.key)),
            versions: Vec::new(),
            attributes: Vec::new(),
            bytes: Vec::new(),
            deleted: Vec::new(),
        };
        for row in rows {
            columns.versions.push(row.version);
            columns.attributes.push(Value::Object(row.attributes));
            columns.bytes.push(row.attribute_bytes);
            columns.deleted.push(row.is_deleted);
        }
        columns
    }
}

/// Inserts records nobody knew. Answers how many: fewer than given means that somebody else was first, and the transaction has to be
/// repeated.
pub(crate) async fn insert(conn: &mut PgConnection, rows: Vec<Written>) -> Result<u64, DeliveryError> {
    let columns = WrittenColumns::of(rows);
    let inserted = sqlx::query!(
        r#"
        insert into headgate.records (app_id, record_type, record_id, version, attributes, attribute_bytes, deleted_at)
        select g.app_id, g.record_type, g.record_id, g.version, g.attributes, g.bytes, case when g.is_deleted then clock_timestamp() end
        from unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::jsonb[], $6::int[], $7::boolean[])
            as g (app_id, record_type, record_id, version, attributes, bytes, is_deleted)
        order by g.app_id, g.record_type, g.record_id
        on conflict (app_id, record_type, record_id) do nothing
        "#,
        &columns.keys.apps,
        &columns.keys.types,
        &columns.keys.ids,
        &columns.versions,
        &columns.attributes,
        &columns.bytes,
        &columns.deleted,
    )
    .execute(conn)
    .await?;
    Ok(inserted.rows_affected())
}

/// Writes held records.
pub(crate) async fn update(conn: &mut PgConnection, rows: Vec<Written>) -> Result<(), DeliveryError> {
    let columns = WrittenColumns::of(rows);
    sqlx::query!(
        r#"
        update headgate.records r
        set version = g.version, attributes = g.attributes, attribute_bytes = g.bytes, updated_at = clock_timestamp(),
            deleted_at = case when g.is_deleted then clock_timestamp() end
        from unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::jsonb[], $6::int[], $7::boolean[])
            as g (app_id, record_type, record_id, version, attributes, bytes, is_deleted)
        where r.app_id = g.app_id and r.record_type = g.record_type and r.record_id = g.record_id
        "#,
        &columns.keys.apps,
        &columns.keys.types,
        &columns.keys.ids,
        &columns.versions,
        &columns.attributes,
        &columns.bytes,
        &columns.deleted,
    )
    .execute(conn)
    .await?;
    Ok(())
}
