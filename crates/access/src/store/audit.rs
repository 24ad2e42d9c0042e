//! Rows of `audit_log`: inserted and read, never changed.

use chrono::{DateTime, TimeDelta, Utc};
use model::{
    audit::{AuditEntry, AuditFilter},
    id::{AppId, AuditEntryId, first_id},
    page::PageRequest,
    rules::amends,
};
use serde_json::Value;
use sqlx::{PgConnection, PgPool, QueryBuilder};
use uuid::Uuid;

/// By how much the clock that made a line's id may differ from the database's, which says when it was.
const SKEW: TimeDelta = TimeDelta::minutes(10);

pub(crate) async fn insert(conn: &mut PgConnection, entry: &AuditEntry) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        insert into headgate.audit_log (id, actor_kind, actor_id, actor_name, role, app_id, action,
                                        object_kind, object_id, before, after, address, request_id, undoes, repeats)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
        "#,
        entry.id as AuditEntryId,
        entry.actor_kind,
        entry.actor_id,
        entry.actor_name,
        entry.role,
        entry.app_id as Option<AppId>,
        entry.action,
        entry.object_kind,
        entry.object_id,
        entry.before,
        entry.after,
        entry.address,
        entry.request_id,
        entry.undoes as Option<AuditEntryId>,
        entry.repeats as Option<AuditEntryId>,
    )
    .execute(conn)
    .await?;
    Ok(())
}

const SELECT: &str = "select a.id, a.at, a.actor_kind, a.actor_id, a.actor_name, a.role, a.app_id, a.action, a.object_kind, \
    a.object_id, a.before, a.after, a.address, a.request_id, a.undoes, a.repeats, \
    (select u.id from headgate.audit_log u where u.undoes = a.id) as undone_by \
    from headgate.audit_log a where true";

/// Newest first. Put together at run time: a condition that is not asked for is absent instead of a parameter that defeats the index.
pub(crate) async fn list(
    pool: &PgPool,
    filter: &AuditFilter,
    page: PageRequest,
) -> Result<Vec<AuditEntry>, sqlx::Error> {
    // Named one by one: a new field of the filter stops the build here.
    let AuditFilter {
        action,
        actor_id,
        actor_name,
        app_id,
        object_kind,
        object_id,
        created_after,
        created_before,
    } = filter;
    let mut sql = QueryBuilder::new(SELECT);
    for (column, value) in [
        ("a.action", action),
        ("a.actor_id", actor_id),
        ("a.object_kind", object_kind),
        ("a.object_id", object_id),
    ] {
        if let Some(value) = value {
            sql.push(format_args!(" and {column} = ")).push_bind(value);
        }
    }
    if let Some(name) = actor_name {
        sql.push(" and lower(a.actor_name) = lower(").push_bind(name).push(")");
    }
    if let Some(app_id) = app_id {
        sql.push(" and a.app_id = ").push_bind(app_id);
    }
    if let Some(after) = created_after {
        sql.push(" and a.at >= ").push_bind(after);
        sql.push(" and a.id >= ").push_bind(first_id(*after - SKEW));
    }
    if let Some(before) = created_before {
        sql.push(" and a.at < ").push_bind(before);
        sql.push(" and a.id < ").push_bind(first_id(*before + SKEW));
    }
    if let Some(after) = page.after {
        sql.push(" and a.id < ").push_bind(after);
    }
    sql.push(" order by a.id desc limit ").push_bind(page.limit + 1);
    let rows: Vec<Row> = sql.build_query_as().fetch_all(pool).await?;
    Ok(rows.into_iter().map(AuditEntry::from).collect())
}

pub(crate) async fn get(pool: &PgPool, id: AuditEntryId) -> Result<Option<AuditEntry>, sqlx::Error> {
    let mut sql = QueryBuilder::new(SELECT);
    let row: Option<Row> =
        sql.push(" and a.id = ").push_bind(id).build_query_as().fetch_optional(pool).await?;
    Ok(row.map(AuditEntry::from))
}

/// The newest line that took this one back or made it again.
pub(crate) async fn following(pool: &PgPool, id: AuditEntryId) -> Result<Option<AuditEntry>, sqlx::Error> {
    let mut sql = QueryBuilder::new(SELECT);
    sql.push(" and a.id > ").push_bind(id);
    sql.push(" and (a.undoes = ").push_bind(id).push(" or a.repeats = ").push_bind(id);
    sql.push(") order by a.id desc limit 1");
    let row: Option<Row> = sql.build_query_as().fetch_optional(pool).await?;
    Ok(row.map(AuditEntry::from))
}

/// What the things with these ids are called; those that are gone are not in it.
pub(crate) async fn labels(pool: &PgPool, ids: &[Uuid]) -> Result<Vec<(Uuid, String)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        select id as "id!", label as "label!" from (
            select id, email as label from headgate.users where id = any ($1)
            union all select id, name from headgate.api_keys where id = any ($1)
            union all select id, name from headgate.apps where id = any ($1)
            union all select i.id, i.name || ' · ' || a.name from headgate.integrations i
                join headgate.apps a on a.id = i.app_id where i.id = any ($1)
            union all select w.id, w.host || ' · ' || w.pid from headgate.workers w where w.id = any ($1)
        ) named
        "#,
        ids,
    )
    .fetch_all(pool)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.label)).collect())
}

#[derive(sqlx::FromRow)]
struct Row {
    id: AuditEntryId,
    at: DateTime<Utc>,
    actor_kind: String,
    actor_id: String,
    actor_name: String,
    role: String,
    app_id: Option<AppId>,
    action: String,
    object_kind: String,
    object_id: Option<String>,
    before: Option<Value>,
    after: Option<Value>,
    address: Option<String>,
    request_id: Option<String>,
    undoes: Option<AuditEntryId>,
    repeats: Option<AuditEntryId>,
    undone_by: Option<AuditEntryId>,
}

impl From<Row> for AuditEntry {
    fn from(row: Row) -> Self {
        let entry = Self {
            id: row.id,
            at: row.at,
            actor_kind: row.actor_kind,
            actor_id: row.actor_id,
            actor_name: row.actor_name,
            role: row.role,
            app_id: row.app_id,
            action: row.action,
            object_kind: row.object_kind,
            object_id: row.object_id,
            before: row.before,
            after: row.after,
            address: row.address,
            request_id: row.request_id,
            undoes: row.undoes,
            repeats: row.repeats,
            undone_by: row.undone_by,
            can_undo: false,
            can_repeat: false,
        };
        Self {
            can_undo: amends::undo(&entry).is_some(),
            can_repeat: amends::repeat(&entry).is_some(),
            ..entry
        }
    }
}
