//! The statements of `accept_events`: rows are locked in key order, read in portions, written set-based.
//!
//! Every table is probed by its key from a sub-query with `offset 0`, or by the ctid of its locked rows: Postgres keeps plans, and one made
//! while the catalog was almost empty must not read all of it for each request after an import.

use std::{collections::HashSet, time::Duration};

use chrono::{DateTime, Utc};
use model::attributes::Attributes;
use model::event::EventType;
use model::id::{AppId, IntegrationId};
use sqlx::{PgConnection, types::Json};

use crate::DeliveryError;
use crate::catalog::Times;
use crate::catalog::key::RecordKey;

/// A record locked until the end of the transaction.
pub(crate) struct LockedRecord {
    pub(crate) app_id: AppId,
    pub(crate) record_type: String,
    pub(crate) record_id: String,
    pub(crate) version: i64,
    pub(crate) attribute_bytes: i32,
    pub(crate) is_deleted: bool,
    /// The row's ctid, which does not change while it is locked.
    pub(crate) ctid: String,
    /// Only of a record of at most [`SMALL_BYTES`].
    pub(crate) attributes: Option<Json<Attributes>>,
    /// Read with the attributes; none: no event said when it occurred.
    pub(crate) times: Option<Json<Times>>,
}

/// Records up to this size are read when they are locked: a thousand of them are 16 MB.
const SMALL_BYTES: i32 = 16_000;

/// Keys as the three arrays that the statements take.
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

/// The apps that exist, each locked against its deletion.
pub(crate) async fn lock_apps(
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
    /// When its changes are due: at the end of a bundle's window, or of a debounce. None: now.
    pub(crate) due_at: Option<DateTime<Utc>>,
    /// With a debounce: until when at the latest a change waits for others.
    pub(crate) gathers_until: Option<DateTime<Utc>>,
}

impl Interested {
    /// When a change is due, and until when at the latest it waits for others. Urgent ones wait for a bundle's window alone.
    pub(crate) fn times(&self, event_type: EventType) -> (Option<DateTime<Utc>>, Option<DateTime<Utc>>) {
        if self.gathers_until.is_some() && event_type.is_urgent() {
            (None, None)
        } else {
            (self.due_at, self.gathers_until)
        }
    }

    pub(crate) fn wants(&self, key: &RecordKey) -> bool {
        self.app_id == key.app_id
            && self.record_types.as_ref().is_none_or(|types| types.contains(&key.record_type))
    }
}

pub(crate) struct LockedApps {
    pub(crate) existing: HashSet<AppId>,
    /// Their integrations that take record changes.
    pub(crate) interested: Vec<Interested>,
    /// When they were locked, by the database's clock, which is the same for all processes: the events occurred before.
    pub(crate) now: DateTime<Utc>,
}

/// Locks each against its deletion: a job must not be left without its integration. Paused integrations collect jobs; disabled ones do not.
pub(crate) async fn lock_interested(
    conn: &mut PgConnection,
    apps: &[uuid::Uuid],
) -> Result<LockedApps, DeliveryError> {
    let rows = sqlx::query!(
        r#"
        with locked as materialized (
            select id from headgate.apps where id = any ($1) order by id for key share
        ), interested as materialized (
            select id, app_id, record_types, timeout_ms, max_attempts, bundle_window_seconds, debounce_seconds, debounce_max_seconds
            from headgate.integrations
            where app_id = any ($1) and state <> 'disabled' and integration_type <> 'external'
            order by id
            for key share
        )
        select id as "app_id!: AppId", null::uuid as "integration_id: IntegrationId", null::text[] as record_types,
            null::int as timeout_ms, null::smallint as max_attempts, null::timestamptz as due_at,
            null::timestamptz as gathers_until, clock_timestamp() as now
        from locked
        union all
        select app_id, id, record_types, timeout_ms, max_attempts,
            coalesce(headgate.window_ends_at(bundle_window_seconds), clock_timestamp() + make_interval(secs => debounce_seconds)),
            clock_timestamp() + make_interval(secs => debounce_max_seconds), null
        from interested
        "#,
        apps,
    )
    .fetch_all(conn)
    .await?;
    let now = rows.iter().find_map(|row| row.now).unwrap_or_default();
    let (mut existing, mut interested) = (HashSet::new(), Vec::new());
    for row in rows {
        match row.integration_id {
            None => {
                existing.insert(row.app_id);
            }
            Some(id) => interested.push(Interested {
                id,
                app_id: row.app_id,
                record_types: row.record_types,
                timeout_ms: row.timeout_ms,
                max_attempts: row.max_attempts,
                due_at: row.due_at,
                gathers_until: row.gathers_until,
            }),
        }
    }
    Ok(LockedApps { existing, interested, now })
}

/// Locks those of the records that exist, in the order given: all transactions lock them in key order.
pub(crate) async fn lock_records(
    conn: &mut PgConnection,
    keys: &KeyColumns,
) -> Result<Vec<LockedRecord>, DeliveryError> {
    let locked = sqlx::query_as!(
        LockedRecord,
        r#"
        select r.app_id as "app_id: AppId", r.record_type, r.record_id, r.version, r.attribute_bytes,
            r.deleted_at is not null as "is_deleted!", r.ctid::text as "ctid!",
            case when r.attribute_bytes <= $4 then r.attributes end as "attributes: Json<Attributes>",
            case when r.attribute_bytes <= $4 then r.occurred end as "times: Json<Times>"
        from (
            select unnest($1::uuid[]) as app_id, unnest($2::text[]) as record_type, unnest($3::text[]) as record_id
        ) k
        cross join lateral (
            select r.ctid, r.app_id, r.record_type, r.record_id, r.version, r.attribute_bytes, r.deleted_at, r.attributes,
                r.occurred
            from headgate.records r
            where r.app_id = k.app_id and r.record_type = k.record_type and r.record_id = k.record_id
            for update offset 0
        ) r
        "#,
        &keys.apps,
        &keys.types,
        &keys.ids,
        SMALL_BYTES,
    )
    .fetch_all(conn)
    .await?;
    Ok(locked)
}

/// A record's attributes and when they occurred.
type Read = (RecordKey, (Attributes, Option<Times>));

/// The attributes of locked records.
pub(crate) async fn read_attributes(
    conn: &mut PgConnection,
    keys: &KeyColumns,
) -> Result<Vec<Read>, DeliveryError> {
    if keys.apps.is_empty() {
        return Ok(Vec::new());
    }
    let rows = sqlx::query!(
        r#"
        select r.app_id as "app_id: AppId", r.record_type, r.record_id, r.attributes as "attributes: Json<Attributes>",
            r.occurred as "times: Json<Times>"
        from (
            select unnest($1::uuid[]) as app_id, unnest($2::text[]) as record_type, unnest($3::text[]) as record_id
        ) k
        cross join lateral (
            select r.app_id, r.record_type, r.record_id, r.attributes, r.occurred from headgate.records r
            where r.app_id = k.app_id and r.record_type = k.record_type and r.record_id = k.record_id
            offset 0
        ) r
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
            (key, (row.attributes.0, row.times.map(|times| times.0)))
        })
        .collect())
}

/// A record as it is after a request's events.
pub(crate) struct Written {
    pub(crate) key: RecordKey,
    /// None: a new record.
    pub(crate) ctid: Option<String>,
    pub(crate) version: i64,
    pub(crate) attributes: Attributes,
    pub(crate) attribute_bytes: i32,
    pub(crate) times: Option<Times>,
    pub(crate) is_deleted: bool,
}

/// Writes records in key order: new ones are inserted, locked ones updated by their ctid; and the changes of the counts by app and type.
///
/// False when another transaction inserted one of the new records first: this one has to be repeated.
pub(crate) async fn write(
    conn: &mut PgConnection,
    rows: &[Written],
    counts: &[(AppId, String, i32)],
) -> Result<bool, DeliveryError> {
    let (existing, new): (Vec<&Written>, Vec<&Written>) = rows.iter().partition(|row| row.ctid.is_some());
    let keys = KeyColumns::of(new.iter().map(|row| &row.key));
    let written = sqlx::query!(
        r#"
        with fresh as (
            insert into headgate.records (
                app_id, record_type, record_id, version, attributes, attribute_bytes, deleted_at, occurred
            )
            select g.app_id, g.record_type, g.record_id, g.version, g.attributes, g.bytes,
                case when g.is_deleted then clock_timestamp() end, g.occurred
            from (
                select unnest($1::uuid[]) as app_id, unnest($2::text[]) as record_type, unnest($3::text[]) as record_id,
                    unnest($4::bigint[]) as version, unnest($5::jsonb[]) as attributes, unnest($6::int[]) as bytes,
                    unnest($7::boolean[]) as is_deleted, unnest($16::jsonb[]) as occurred
            ) g
            on conflict (app_id, record_type, record_id) do nothing
            returning 1
        ), existing as (
            update headgate.records r
            set version = g.version, attributes = g.attributes, attribute_bytes = g.bytes, occurred = g.occurred,
                updated_at = case when g.version = r.version then r.updated_at else clock_timestamp() end,
                deleted_at = case when not g.is_deleted then null when g.version = r.version then r.deleted_at else clock_timestamp() end
            from (
                select unnest($8::text[])::tid as tid, unnest($9::bigint[]) as version, unnest($10::jsonb[]) as attributes,
                    unnest($11::int[]) as bytes, unnest($12::boolean[]) as is_deleted, unnest($17::jsonb[]) as occurred
            ) g
            where r.ctid = g.tid
            returning 1
        ), counted as (
            insert into headgate.record_count_deltas (app_id, record_type, n)
            select g.app_id, g.record_type, g.n from unnest($13::uuid[], $14::text[], $15::int[]) as g (app_id, record_type, n)
        )
        select (select count(*) from fresh) + (select count(*) from existing) as "n!"
        "#,
        &keys.apps,
        &keys.types,
        &keys.ids,
        &column(&new, |row| row.version),
        &column(&new, |row| Json(&row.attributes)) as &[Json<&Attributes>],
        &column(&new, |row| row.attribute_bytes),
        &column(&new, |row| row.is_deleted),
        &column(&existing, |row| row.ctid.as_deref()) as &[Option<&str>],
        &column(&existing, |row| row.version),
        &column(&existing, |row| Json(&row.attributes)) as &[Json<&Attributes>],
        &column(&existing, |row| row.attribute_bytes),
        &column(&existing, |row| row.is_deleted),
        &column(counts, |count| count.0.0),
        &column(counts, |count| count.1.as_str()) as &[&str],
        &column(counts, |count| count.2),
        &times(&new) as &[Option<Json<&Times>>],
        &times(&existing) as &[Option<Json<&Times>>],
    )
    .fetch_one(conn)
    .await?;
    Ok(usize::try_from(written.n) == Ok(rows.len()))
}

/// Without any times an empty array, which `unnest` reads as nulls at no cost.
fn times<'a>(rows: &[&'a Written]) -> Vec<Option<Json<&'a Times>>> {
    if rows.iter().all(|row| row.times.is_none()) {
        return Vec::new();
    }
    rows.iter().map(|row| row.times.as_ref().map(Json)).collect()
}

/// Stores the ids of events; returns those that were not stored yet. Waits for other transactions that are storing the same ids.
pub(crate) async fn remember_events(
    conn: &mut PgConnection,
    keys: &[(AppId, &str)],
    remembered: Duration,
) -> Result<HashSet<(AppId, String)>, DeliveryError> {
    let fresh = sqlx::query!(
        r#"
        insert into headgate.event_ids as e (app_id, id)
        select unnest($1::uuid[]), unnest($2::text[])
        on conflict (app_id, id) do update set accepted_at = clock_timestamp()
            where e.accepted_at < clock_timestamp() - make_interval(secs => $3)
        returning app_id as "app_id: AppId", id
        "#,
        &column(keys, |key| key.0.0),
        &column(keys, |key| key.1) as &[&str],
        remembered.as_secs_f64(),
    )
    .fetch_all(conn)
    .await?;
    Ok(fresh.into_iter().map(|row| (row.app_id, row.id)).collect())
}

fn column<'a, R, T>(rows: &'a [R], take: impl Fn(&'a R) -> T) -> Vec<T> {
    rows.iter().map(take).collect()
}
