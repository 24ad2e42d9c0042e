//! Rows of `audit_log`: inserted and read, never changed.

use chrono::{DateTime, TimeDelta, Utc};
use model::{
    audit::{AuditEntry, AuditFilter},
    id::{AppId, AuditEntryId, first_id},
    page::{Page, PageRequest},
    rules::amends,
};
use serde_json::Value;
use sqlx::{PgConnection, PgPool, Postgres, QueryBuilder};
use uuid::Uuid;

/// By how much the clock that made a line's id may differ from the database's, which says when it was.
const SKEW: TimeDelta = TimeDelta::minutes(10);
/// Lines that a page looks at where no index has all that is asked for. What lies behind them is the next page's.
const LOOKED_AT: i64 = 3_000;

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

const COLUMNS: &str = "a.id, a.at, a.actor_kind, a.actor_id, a.actor_name, a.role, a.app_id, a.action, a.object_kind, \
    a.object_id, a.before, a.after, a.address, a.request_id, a.undoes, a.repeats, \
    (select u.id from headgate.audit_log u where u.undoes = a.id) as undone_by";

/// What stands before the ids in an index, and is asked to be this.
struct Front<'a> {
    key: &'static str,
    value: Sought<'a>,
}

#[derive(Clone, Copy)]
enum Sought<'a> {
    Text(&'a str),
    Lower(&'a str),
    Id(AppId),
}

impl Sought<'_> {
    fn push(self, sql: &mut QueryBuilder<Postgres>) {
        match self {
            Self::Text(text) => sql.push_bind(text.to_owned()),
            Self::Lower(text) => sql.push("lower(").push_bind(text.to_owned()).push(")"),
            Self::Id(id) => sql.push_bind(id),
        };
    }
}

/// What is asked for.
struct Asked<'a> {
    fronts: Vec<Front<'a>>,
    after: Option<DateTime<Utc>>,
    before: Option<DateTime<Utc>>,
}

impl<'a> Asked<'a> {
    fn by(filter: &'a AuditFilter) -> Self {
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
        let fronts = [
            ("a.object_id", object_id.as_deref().map(Sought::Text)),
            ("a.actor_id", actor_id.as_deref().map(Sought::Text)),
            ("lower(a.actor_name)", actor_name.as_deref().map(Sought::Lower)),
            ("a.action", action.as_deref().map(Sought::Text)),
            ("a.app_id", app_id.map(Sought::Id)),
            ("a.object_kind", object_kind.as_deref().map(Sought::Text)),
        ];
        let fronts = fronts.into_iter().filter_map(|(key, value)| Some(Front { key, value: value? }));
        Self { fronts: fronts.collect(), after: *created_after, before: *created_before }
    }

    /// Whether an index has all that is asked for.
    fn is_indexed(&self) -> bool {
        self.fronts.len() < 2 && self.after.is_none() && self.before.is_none()
    }

    /// Appends the lines with that in front, newest first: from its value to its value, because of equal ones a planner would walk all lines.
    fn push_walk(&self, sql: &mut QueryBuilder<Postgres>, front: Option<&Front<'_>>, after: Option<Uuid>) {
        sql.push(" from headgate.audit_log a where true");
        if let Some(from) = self.after {
            sql.push(" and a.id >= ").push_bind(first_id(from - SKEW));
        }
        let before = self.before.map(|before| first_id(before + SKEW));
        for id in [before, after].into_iter().flatten() {
            sql.push(" and a.id < ").push_bind(id);
        }
        let Some(Front { key, value }) = front else { return };
        for bound in [">=", "<="] {
            sql.push(format_args!(" and {key} {bound} "));
            value.push(sql);
        }
    }

    fn push_conditions(&self, sql: &mut QueryBuilder<Postgres>) {
        for Front { key, value } in &self.fronts {
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

    /// By which index the fewest lines are walked past, and the last line that is looked at; none: all there are.
    async fn way(
        &self,
        pool: &PgPool,
        after: Option<Uuid>,
    ) -> Result<(Option<&Front<'a>>, Option<Uuid>), sqlx::Error> {
        if self.is_indexed() {
            return Ok((self.fronts.first(), None));
        }
        let mut fronts: Vec<Option<&Front<'_>>> = self.fronts.iter().map(Some).collect();
        if fronts.is_empty() {
            fronts.push(None);
        }
        let mut sql = QueryBuilder::new("select array[");
        for (n, front) in fronts.iter().enumerate() {
            sql.push(if n == 0 { "(select a.id" } else { ", (select a.id" });
            self.push_walk(&mut sql, *front, after);
            sql.push(order(*front));
            // Not told to the planner, which would read a table that has no more than that from end to end.
            sql.push(format_args!(" limit 1 offset (select {}))", LOOKED_AT - 1));
        }
        let ends: Vec<Option<Uuid>> = sql.push("]").build_query_scalar().fetch_one(pool).await?;
        // The one that comes furthest back.
        let way = fronts.into_iter().zip(ends).min_by_key(|(_, end)| *end);
        Ok(way.unwrap_or_default())
    }
}

fn order(front: Option<&Front<'_>>) -> String {
    front.map_or(" order by a.id desc".to_owned(), |Front { key, .. }| {
        format!(" order by {key} desc, a.id desc")
    })
}

/// Newest first. Each condition has an index, and no two have one together: of several, a page looks at so many lines in the order of one and ends
/// there, whatever it found. Put together at run time: a condition that is not asked for is absent instead of a parameter that defeats the index.
pub(crate) async fn list(
    pool: &PgPool,
    filter: &AuditFilter,
    page: PageRequest,
) -> Result<Page<AuditEntry>, sqlx::Error> {
    let asked = Asked::by(filter);
    let (front, until) = asked.way(pool, page.after).await?;
    let mut sql = QueryBuilder::new(format!("select {COLUMNS} from (select a.*"));
    asked.push_walk(&mut sql, front, page.after);
    if let Some(until) = until {
        sql.push(" and a.id >= ").push_bind(until);
    }
    sql.push(order(front));
    if asked.is_indexed() {
        sql.push(" limit ").push_bind(page.limit + 1);
    } else {
        // A limit that is none keeps what else is asked for outside: a planner that believes that few lines match would read and sort all of them.
        sql.push(" limit (select null::bigint)");
    }
    sql.push(") a where true");
    asked.push_conditions(&mut sql);
    sql.push(" order by a.id desc limit ").push_bind(page.limit + 1);
    let rows: Vec<Row> = sql.build_query_as().fetch_all(pool).await?;
    let lines = rows.into_iter().map(AuditEntry::from).collect();
    Ok(Page::from_surplus(lines, page.limit, |line: &AuditEntry| line.id.0).that_looked_as_far_as(until))
}

/// Lines that are asked for one by one.
fn select() -> QueryBuilder<Postgres> {
    QueryBuilder::new(format!("select {COLUMNS} from headgate.audit_log a where true"))
}

pub(crate) async fn get(pool: &PgPool, id: AuditEntryId) -> Result<Option<AuditEntry>, sqlx::Error> {
    let mut sql = select();
    let row: Option<Row> =
        sql.push(" and a.id = ").push_bind(id).build_query_as().fetch_optional(pool).await?;
    Ok(row.map(AuditEntry::from))
}

/// The newest line that took this one back or made it again.
pub(crate) async fn following(pool: &PgPool, id: AuditEntryId) -> Result<Option<AuditEntry>, sqlx::Error> {
    let mut sql = select();
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
