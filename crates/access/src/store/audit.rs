//! Rows of `audit_log`, which are never changed.

use crate::error::AccessError;
use chrono::{DateTime, TimeDelta, Utc};
use model::audit::{AuditEntry, AuditFilter};
use model::id::{AppId, AuditEntryId, first_id};
use model::page::{Page, PageRequest};
use model::rules::undo;
use serde_json::Value;
use sqlx::{PgConnection, PgPool, Postgres, QueryBuilder};
use uuid::Uuid;

/// By how much the clock that made a line's id may differ from the database's, which set `at`.
const SKEW: TimeDelta = TimeDelta::minutes(10);
/// Lines that one page reads when no index covers all conditions. The next page goes on behind them.
const MAX_SCANNED: i64 = 3_000;

/// # Errors
/// `Conflict` for the second line that undoes the same one.
pub(crate) async fn insert(conn: &mut PgConnection, entry: &AuditEntry) -> Result<(), AccessError> {
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
    .await
    .map_err(|error| if is_undone(&error) { AccessError::already_undone() } else { error.into() })?;
    Ok(())
}

fn is_undone(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|error| error.constraint()) == Some("audit_log_undoes_key")
}

const COLUMNS: &str = "a.id, a.at, a.actor_kind, a.actor_id, a.actor_name, a.role, a.app_id, a.action, a.object_kind, \
    a.object_id, a.before, a.after, a.address, a.request_id, a.undoes, a.repeats, \
    (select u.id from headgate.audit_log u where u.undoes = a.id) as undone_by";

/// A condition with an index on `(key, id)`.
struct Condition<'a> {
    key: &'static str,
    value: Wanted<'a>,
}

#[derive(Clone, Copy)]
enum Wanted<'a> {
    Text(&'a str),
    Lower(&'a str),
    Id(AppId),
}

impl Wanted<'_> {
    fn push(self, sql: &mut QueryBuilder<Postgres>) {
        match self {
            Self::Text(text) => sql.push_bind(text.to_owned()),
            Self::Lower(text) => sql.push("lower(").push_bind(text.to_owned()).push(")"),
            Self::Id(id) => sql.push_bind(id),
        };
    }
}

struct Conditions<'a> {
    indexed: Vec<Condition<'a>>,
    after: Option<DateTime<Utc>>,
    before: Option<DateTime<Utc>>,
}

impl<'a> Conditions<'a> {
    fn of(filter: &'a AuditFilter) -> Self {
        // No `..`, so that a new field of the filter stops the build here.
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
        let indexed = [
            ("a.object_id", object_id.as_deref().map(Wanted::Text)),
            ("a.actor_id", actor_id.as_deref().map(Wanted::Text)),
            ("lower(a.actor_name)", actor_name.as_deref().map(Wanted::Lower)),
            ("a.action", action.as_deref().map(Wanted::Text)),
            ("a.app_id", app_id.map(Wanted::Id)),
            ("a.object_kind", object_kind.as_deref().map(Wanted::Text)),
        ];
        let indexed = indexed.into_iter().filter_map(|(key, value)| Some(Condition { key, value: value? }));
        Self { indexed: indexed.collect(), after: *created_after, before: *created_before }
    }

    /// Whether one index covers all conditions.
    fn is_indexed(&self) -> bool {
        self.indexed.len() < 2 && self.after.is_none() && self.before.is_none()
    }

    /// Appends the scan of one condition's index, newest first. The condition is written as a range (`>= and <=`): with `=`, the planner drops the key
    /// from the sort order and may walk the primary key instead, through all lines.
    fn push_scan(&self, sql: &mut QueryBuilder<Postgres>, by: Option<&Condition<'_>>, after: Option<Uuid>) {
        sql.push(" from headgate.audit_log a where true");
        if let Some(from) = self.after {
            sql.push(" and a.id >= ").push_bind(first_id(from - SKEW));
        }
        let before = self.before.map(|before| first_id(before + SKEW));
        for id in [before, after].into_iter().flatten() {
            sql.push(" and a.id < ").push_bind(id);
        }
        let Some(Condition { key, value }) = by else { return };
        for bound in [">=", "<="] {
            sql.push(format_args!(" and {key} {bound} "));
            value.push(sql);
        }
    }

    fn push_all(&self, sql: &mut QueryBuilder<Postgres>) {
        for Condition { key, value } in &self.indexed {
            sql.push(format_args!(" and {key} = "));
            value.push(sql);
        }
        if let Some(after) = self.after {
            sql.push(" and a.at >= ").push_bind(after);
        }
        if let Some(before) = self.before {
            sql.push(" and a.at < ").push_bind(before);
        }
    }

    /// The condition whose index passes the fewest lines, and the last line to read (`None`: all there are).
    async fn choose_index(
        &self,
        pool: &PgPool,
        after: Option<Uuid>,
    ) -> Result<(Option<&Condition<'a>>, Option<Uuid>), sqlx::Error> {
        if self.is_indexed() {
            return Ok((self.indexed.first(), None));
        }
        let mut choices: Vec<Option<&Condition<'_>>> = self.indexed.iter().map(Some).collect();
        if choices.is_empty() {
            choices.push(None);
        }
        let mut sql = QueryBuilder::new("select array[");
        for (n, by) in choices.iter().enumerate() {
            sql.push(if n == 0 { "(select a.id" } else { ", (select a.id" });
            self.push_scan(&mut sql, *by, after);
            sql.push(order(*by));
            // In a subquery, so that the planner does not see the number: it would scan a table of no more rows than that sequentially.
            sql.push(format_args!(" limit 1 offset (select {}))", MAX_SCANNED - 1));
        }
        let ends: Vec<Option<Uuid>> = sql.push("]").build_query_scalar().fetch_one(pool).await?;
        // The one that reaches furthest back.
        let choice = choices.into_iter().zip(ends).min_by_key(|(_, end)| *end);
        Ok(choice.unwrap_or_default())
    }
}

fn order(by: Option<&Condition<'_>>) -> String {
    by.map_or(" order by a.id desc".to_owned(), |Condition { key, .. }| {
        format!(" order by {key} desc, a.id desc")
    })
}

/// Newest first. Each condition has an index, no two share one: with several, a page reads `MAX_SCANNED` lines of one index and ends there, whatever
/// it found. The statement is built at run time, so that an unused condition is absent instead of a parameter that defeats the index.
pub(crate) async fn list(
    pool: &PgPool,
    filter: &AuditFilter,
    page: PageRequest,
) -> Result<Page<AuditEntry>, sqlx::Error> {
    let conditions = Conditions::of(filter);
    let (by, until) = conditions.choose_index(pool, page.after).await?;
    let mut sql = QueryBuilder::new(format!("select {COLUMNS} from (select a.*"));
    conditions.push_scan(&mut sql, by, page.after);
    if let Some(until) = until {
        sql.push(" and a.id >= ").push_bind(until);
    }
    sql.push(order(by));
    if conditions.is_indexed() {
        sql.push(" limit ").push_bind(page.limit + 1);
    } else {
        // `limit null` keeps the other conditions outside: a planner that expects few lines to match would read and sort all of them.
        sql.push(" limit (select null::bigint)");
    }
    sql.push(") a where true");
    conditions.push_all(&mut sql);
    sql.push(" order by a.id desc limit ").push_bind(page.limit + 1);
    let rows: Vec<Row> = sql.build_query_as().fetch_all(pool).await?;
    let lines = rows.into_iter().map(AuditEntry::from).collect();
    Ok(Page::from_surplus(lines, page.limit, |line: &AuditEntry| line.id.0).scanned_until(until))
}

fn select() -> QueryBuilder<Postgres> {
    QueryBuilder::new(format!("select {COLUMNS} from headgate.audit_log a where true"))
}

pub(crate) async fn get(pool: &PgPool, id: AuditEntryId) -> Result<Option<AuditEntry>, sqlx::Error> {
    let mut sql = select();
    let row: Option<Row> =
        sql.push(" and a.id = ").push_bind(id).build_query_as().fetch_optional(pool).await?;
    Ok(row.map(AuditEntry::from))
}

/// The newest line that undid or repeated this one.
pub(crate) async fn following(pool: &PgPool, id: AuditEntryId) -> Result<Option<AuditEntry>, sqlx::Error> {
    let mut sql = select();
    sql.push(" and a.id > ").push_bind(id);
    sql.push(" and (a.undoes = ").push_bind(id).push(" or a.repeats = ").push_bind(id);
    sql.push(") order by a.id desc limit 1");
    let row: Option<Row> = sql.build_query_as().fetch_optional(pool).await?;
    Ok(row.map(AuditEntry::from))
}

/// Names of the objects with these ids. Deleted ones are missing.
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
        Self { can_undo: undo::undo(&entry).is_some(), can_repeat: undo::repeat(&entry).is_some(), ..entry }
    }
}
