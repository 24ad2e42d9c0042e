//! Pages of lists. Where no index leads to the matching rows only, a page scans a limited number of rows in the order of the list, and says where
//! the next page begins, whatever it found.

use super::arms::{AccessPath, Arm};
use super::{filter, filter_time};
use model::job::JobStatus;
use model::page::{Order, Page, PageRequest};
use queue::{error::QueueError, store::jobs::Part};
use sqlx::{FromRow, PgPool, Postgres, QueryBuilder, postgres::PgRow};
use uuid::Uuid;

/// How many rows of each part a page scans first, for each row it may show: nearly all lists are filled by these.
const FIRST_SCAN_PER_ITEM: i64 = 10;
/// How many rows of each part a page scans when it was not filled. The next page continues behind them. 10,000 took 260 ms where none matched, and a
/// page has 100.
const MAX_SCANNED: i64 = 3_000;

pub(crate) struct Listing<R> {
    /// SQL of the id by which the list is ordered.
    pub(crate) id: fn(Part) -> &'static str,
    pub(crate) id_of: fn(&R) -> Uuid,
    /// `select …`, up to `from`; the id is named `id`.
    pub(crate) columns: fn(Part) -> String,
}

/// The ids that a page may have.
#[derive(Clone, Copy)]
struct Range {
    after: Option<Uuid>,
    /// The last id that is scanned.
    until: Option<Uuid>,
    order: Order,
}

/// A page of what the arms find.
///
/// # Errors
/// [`QueueError::Timeout`] when the pool's `statement_timeout` is over.
pub(crate) async fn page<R>(
    pool: &PgPool,
    arms: &[Arm<'_>],
    listing: &Listing<R>,
    request: PageRequest,
    order: Order,
) -> Result<Page<R>, QueueError>
where
    R: for<'r> FromRow<'r, PgRow> + Send + Unpin,
{
    let PageRequest { limit, after } = request;
    let mut scanned = limit * FIRST_SCAN_PER_ITEM;
    loop {
        let until = end(pool, arms, listing, request, order, scanned).await?;
        let mut query = statement(arms, listing, Range { after, until, order }, limit + 1);
        let rows = query.build_query_as::<R>().fetch_all(pool).await?;
        let page = Page::from_surplus(rows, limit, listing.id_of).scanned_until(until);
        let is_full = usize::try_from(limit).is_ok_and(|limit| page.items.len() >= limit);
        if until.is_none() || is_full || scanned >= MAX_SCANNED {
            return Ok(page);
        }
        scanned = MAX_SCANNED;
    }
}

fn statement<R>(arms: &[Arm<'_>], listing: &Listing<R>, range: Range, limit: i64) -> QueryBuilder<Postgres> {
    let (_, direction) = directions(range.order);
    let mut sql = QueryBuilder::new("select * from (");
    for (n, arm) in arms.iter().enumerate() {
        let (part, id) = (arm.part, (listing.id)(arm.part));
        sql.push(if n == 0 { "(" } else { " union all (" });
        let is_driven = arm.push_driver(&mut sql);
        sql.push((listing.columns)(part)).push(" from ");
        if arm.is_walked() {
            // The sub-query reads rows in the order of the index; conditions are applied outside, behind a limit of null, which limits nothing and
            // fences the sub-query off. Otherwise a planner that expects few rows to match reads and sorts all of them.
            sql.push(format_args!("(select {}.* from ", part.row()));
            arm.push_walk(&mut sql, id, range);
            sql.push(format_args!(" limit (select null::bigint)) {}{} where true", part.row(), arm.joined()));
        } else {
            arm.push_table(&mut sql);
            sql.push(" where true").push(arm.link());
            range.push(&mut sql, id);
        }
        arm.push_conditions(&mut sql);
        sql.push(format_args!(" order by {id} {direction} limit {limit}"));
        sql.push(if is_driven { ") driven)" } else { ")" });
    }
    sql.push(format_args!(") found order by id {direction} limit {limit}"));
    sql
}

/// The last id of a page that scans `scanned` rows of each arm: beyond it one of the arms was not scanned. None when all were scanned to their end.
async fn end<R>(
    pool: &PgPool,
    arms: &[Arm<'_>],
    listing: &Listing<R>,
    PageRequest { limit, after }: PageRequest,
    order: Order,
    scanned: i64,
) -> Result<Option<Uuid>, QueueError> {
    let walked: Vec<&Arm<'_>> = arms.iter().filter(|arm| arm.is_walked()).collect();
    if walked.is_empty() {
        return Ok(None);
    }
    let (_, direction) = directions(order);
    let mut sql = QueryBuilder::new("select id from (");
    for (n, arm) in walked.into_iter().enumerate() {
        let id = (listing.id)(arm.part);
        sql.push(if n == 0 { "(" } else { " union all (" });
        let is_driven = arm.push_driver(&mut sql);
        sql.push(format_args!("select {id} as id from "));
        arm.push_walk(&mut sql, id, Range { after, until: None, order });
        sql.push(" limit 1 offset ");
        if let AccessPath::Integrations(app_id) = arm.path {
            sql.push(format_args!(
                "(select greatest({scanned} / greatest(count(*), 1), {limit}) from headgate.integrations o where o.app_id = "
            ));
            sql.push_bind(app_id).push(")");
        } else {
            // A sub-select hides the number from the planner, which would otherwise scan a table of about that size sequentially.
            sql.push(format_args!("(select {scanned})"));
        }
        sql.push(if is_driven { ") driven)" } else { ")" });
    }
    sql.push(format_args!(") ends order by id {direction} limit 1"));
    Ok(sql.build_query_scalar().fetch_optional(pool).await?)
}

impl Range {
    fn push(self, sql: &mut QueryBuilder<Postgres>, id: &str) {
        let (beyond, _) = directions(self.order);
        if let Some(after) = self.after {
            sql.push(format_args!(" and {id} {beyond} ")).push_bind(after);
        }
        if let Some(until) = self.until {
            sql.push(" and ").push_bind(until).push(format_args!(" {beyond}= {id}"));
        }
    }
}

/// The key before the ids in the index that is scanned.
struct IndexPrefix {
    /// A column, or an expression on one.
    key: String,
    value: Value,
}

enum Value {
    /// The id of the driving table (`k`).
    Driver,
    Id(Uuid),
    Text(String),
}

impl Arm<'_> {
    /// Appends a table with conditions on columns of its index in the order of `id`, ordered as the index.
    fn push_walk(&self, sql: &mut QueryBuilder<Postgres>, id: &str, range: Range) {
        let (part, row) = (self.part, self.part.row());
        let (_, direction) = directions(range.order);
        sql.push(format_args!("{} {row} where true", part.relation()));
        if part == Part::Successors {
            sql.push(" and j.successor is not null");
        }
        filter_time::push_walk(sql, self.filter, part, id);
        range.push(sql, id);
        let Some(IndexPrefix { key, value }) = self.index_prefix() else {
            if self.filter.status == Some(JobStatus::Cancelled) {
                sql.push(" and ").push(filter::status_condition(JobStatus::Cancelled, part));
            }
            sql.push(format_args!(" order by {id} {direction}"));
            return;
        };
        // A range from the value to the value, ordered by key and id. With an equality the planner needs the order of the ids only, and may walk
        // another index, past all rows of other values.
        for bound in [">=", "<="] {
            sql.push(format_args!(" and {key} {bound} "));
            match &value {
                Value::Id(id) => sql.push_bind(*id),
                Value::Text(text) => sql.push_bind(text.clone()),
                Value::Driver => sql.push("k.id"),
            };
        }
        sql.push(format_args!(" order by {key} {direction}, {id} {direction}"));
    }

    fn index_prefix(&self) -> Option<IndexPrefix> {
        // Successors have one index, without a prefix.
        if self.part == Part::Successors {
            return None;
        }
        let row = self.part.row();
        let of = |column: &str, value| Some(IndexPrefix { key: format!("{row}.{column}"), value });
        if let Some(id) = self.correlated() {
            return of("correlation_id", Value::Text(id.to_owned()));
        }
        if let Some(id) = self.filter.batch_id {
            return of("batch_id", Value::Id(id.0));
        }
        if let Some(fingerprint) = &self.filter.fingerprint
            && let Some((key, value)) = filter::fingerprint_key(fingerprint, self.part)
        {
            return Some(IndexPrefix { key, value: Value::Text(value) });
        }
        if let AccessPath::Integrations(_) = self.path {
            return of("integration_id", Value::Driver);
        }
        if let Some(id) = self.filter.integration_id {
            return of("integration_id", Value::Id(id.0));
        }
        let app_id = self.app_id().filter(|_| self.part == Part::Dead)?;
        of("app_id", Value::Id(app_id.0))
    }
}

/// The comparison with the last id of the page before, and the sort direction.
fn directions(order: Order) -> (&'static str, &'static str) {
    match order {
        Order::Newest => ("<", "desc"),
        Order::Oldest => (">", "asc"),
    }
}
