//! Pages of lists. Where nothing leads to the rows that match alone, a page looks at so many rows in the order of the list and at no more:
//! it says where to go on, whatever it found.

use super::{
    arms::{Arm, Way},
    filter::{self, Part},
    filter_time,
};
use crate::error::QueueError;
use model::{
    job::JobStatus,
    page::{Order, Page, PageRequest},
};
use sqlx::{FromRow, PgPool, Postgres, QueryBuilder, postgres::PgRow};
use uuid::Uuid;

/// Rows of each place that a page looks at first, for each that it may show: nearly all lists are filled by these.
const LOOKED_AT_FIRST: i64 = 10;
/// Rows of each place that a page looks at when it was not filled. What lies behind them is the next page's. 10,000 took 260 ms where none
/// matched, and a page has 100.
const LOOKED_AT: i64 = 3_000;

/// What is listed.
pub(crate) struct Listing<R> {
    /// What the list is in the order of.
    pub(crate) id: fn(Part) -> &'static str,
    pub(crate) id_of: fn(&R) -> Uuid,
    /// `select …`, up to `from`; the id is named `id`.
    pub(crate) columns: fn(Part) -> String,
}

/// The rows that a page may be of.
#[derive(Clone, Copy)]
struct Range {
    after: Option<Uuid>,
    /// The last that is looked at.
    until: Option<Uuid>,
    order: Order,
}

/// A page of what the arms find.
///
/// # Errors
/// When the database is away; [`QueueError::Timeout`].
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
    let mut looked_at = limit * LOOKED_AT_FIRST;
    loop {
        let until = end(pool, arms, listing, request, order, looked_at).await?;
        let mut query = statement(arms, listing, Range { after, until, order }, limit + 1);
        let rows = query.build_query_as::<R>().fetch_all(pool).await?;
        let page = Page::from_surplus(rows, limit, listing.id_of).that_looked_as_far_as(until);
        let is_full = usize::try_from(limit).is_ok_and(|limit| page.items.len() >= limit);
        if until.is_none() || is_full || looked_at >= LOOKED_AT {
            return Ok(page);
        }
        looked_at = LOOKED_AT;
    }
}

/// The union of all ways, each limited by itself.
fn statement<R>(arms: &[Arm<'_>], listing: &Listing<R>, range: Range, most: i64) -> QueryBuilder<Postgres> {
    let (_, direction) = directions(range.order);
    let mut sql = QueryBuilder::new("select * from (");
    for (n, arm) in arms.iter().enumerate() {
        let (part, id) = (arm.part, (listing.id)(arm.part));
        sql.push(if n == 0 { "(" } else { " union all (" });
        let is_led = arm.push_lead(&mut sql);
        sql.push((listing.columns)(part)).push(" from ");
        if arm.is_walked() {
            // As the index has them: what is asked of a row is asked outside, and there is a limit that is none. Otherwise a planner that
            // believes that few rows match reads and sorts all of them.
            sql.push(format_args!("(select {}.* from ", part.row()));
            arm.push_walk(&mut sql, id, range);
            sql.push(format_args!(" limit (select null::bigint)) {}{} where true", part.row(), arm.joined()));
        } else {
            arm.push_table(&mut sql);
            sql.push(" where true").push(arm.link());
            range.push(&mut sql, id);
        }
        arm.push_conditions(&mut sql);
        sql.push(format_args!(" order by {id} {direction} limit {most}"));
        sql.push(if is_led { ") led)" } else { ")" });
    }
    sql.push(format_args!(") found order by id {direction} limit {most}"));
    sql
}

/// Where the page ends that looks at so many rows of each way: at the first id beyond which one of them was not looked at.
async fn end<R>(
    pool: &PgPool,
    arms: &[Arm<'_>],
    listing: &Listing<R>,
    PageRequest { limit, after }: PageRequest,
    order: Order,
    looked_at: i64,
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
        let is_led = arm.push_lead(&mut sql);
        sql.push(format_args!("select {id} as id from "));
        arm.push_walk(&mut sql, id, Range { after, until: None, order });
        sql.push(" limit 1 offset ");
        if let Way::Integrations(app_id) = arm.way {
            sql.push(format_args!(
                "(select greatest({looked_at} / greatest(count(*), 1), {limit}) from headgate.integrations o where o.app_id = "
            ));
            sql.push_bind(app_id).push(")");
        } else {
            // Not told to the planner, which would read a table that has no more than that from end to end.
            sql.push(format_args!("(select {looked_at})"));
        }
        sql.push(if is_led { ") led)" } else { ")" });
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

/// What stands before the ids in the index that is walked.
struct Front {
    /// A column of the row, or what is computed of it.
    key: String,
    value: Value,
}

/// What the index is entered at.
enum Value {
    /// What leads to the rows tells it.
    Led,
    Id(Uuid),
    Text(String),
}

impl Arm<'_> {
    /// Appends what is walked along: a table and what its index in the order of `id` tells of a row, in the index's order.
    fn push_walk(&self, sql: &mut QueryBuilder<Postgres>, id: &str, range: Range) {
        let (part, row) = (self.part, self.part.row());
        let (_, direction) = directions(range.order);
        sql.push(format_args!("{} {row} where true", part.relation()));
        if part == Part::Successors {
            sql.push(" and j.successor is not null");
        }
        filter_time::push_walk(sql, self.filter, part, id);
        range.push(sql, id);
        let Some(Front { key, value }) = self.front() else {
            if self.filter.status == Some(JobStatus::Cancelled) {
                sql.push(" and ").push(filter::status_condition(JobStatus::Cancelled, part));
            }
            sql.push(format_args!(" order by {id} {direction}"));
            return;
        };
        // From its value to its value: of equal ones the order of the ids alone is asked, for which a planner walks them in another index, past
        // all rows of others.
        for bound in [">=", "<="] {
            sql.push(format_args!(" and {key} {bound} "));
            match &value {
                Value::Id(id) => sql.push_bind(*id),
                Value::Text(text) => sql.push_bind(text.clone()),
                Value::Led => sql.push("k.id"),
            };
        }
        sql.push(format_args!(" order by {key} {direction}, {id} {direction}"));
    }

    fn front(&self) -> Option<Front> {
        // Of the few that stand behind a processing job there is one index.
        if self.part == Part::Successors {
            return None;
        }
        let row = self.part.row();
        let of = |column: &str, value| Some(Front { key: format!("{row}.{column}"), value });
        if let Some(id) = self.correlated() {
            return of("correlation_id", Value::Text(id.to_owned()));
        }
        if let Some(id) = self.filter.batch_id {
            return of("batch_id", Value::Id(id.0));
        }
        if let Some(fingerprint) = &self.filter.fingerprint
            && let Some((key, value)) = filter::fingerprint_key(fingerprint, self.part)
        {
            return Some(Front { key, value: Value::Text(value) });
        }
        if let Way::Integrations(_) = self.way {
            return of("integration_id", Value::Led);
        }
        if let Some(id) = self.filter.integration_id {
            return of("integration_id", Value::Id(id.0));
        }
        let app_id = self.app_id().filter(|_| self.part == Part::Dead)?;
        of("app_id", Value::Id(app_id.0))
    }
}

/// What comes after an id, and which end comes first.
fn directions(order: Order) -> (&'static str, &'static str) {
    match order {
        Order::Newest => ("<", "desc"),
        Order::Oldest => (">", "asc"),
    }
}
