//! Dead letters by integration and cause.

use super::found::{is_kept, push_counted, push_kept};
use super::read::check;
use crate::store::{count_briefly::count_briefly, job_lists::filter::cause_of};
use model::actor::Scope;
use model::dead_letter_grid::{DeadLetterGrid, GridCause, GridPageRequest, GridRow, Rank};
use model::failure::CauseId;
use model::filter::JobFilter;
use model::id::IntegrationId;
use model::matched::MAX_COUNTED;
use queue::error::QueueError;
use sqlx::{PgPool, Postgres, QueryBuilder};
use std::collections::HashMap;

const COLUMNS: usize = 6;
const ROWS: usize = 20;

/// A number of the grid: with integration and cause a cell, with one of them the total of a row or a column, with neither the grand total.
#[derive(sqlx::FromRow)]
struct Number {
    integration_id: Option<IntegrationId>,
    cause: Option<String>,
    count: i64,
    /// Of a column only.
    error: Option<String>,
    /// Of the grand total only.
    integrations: Option<i64>,
    causes: Option<i64>,
}

/// The integrations and the causes with the most dead letters; none when counting would take too long.
///
/// # Errors
/// `Invalid` when the filter needs another one.
pub async fn grid(
    pool: &PgPool,
    scope: Scope,
    filter: &JobFilter,
    page: GridPageRequest,
) -> Result<Option<DeadLetterGrid>, QueueError> {
    check(filter)?;
    let mut query = statement(scope, filter, page);
    if is_kept(filter) {
        return Ok(Some(assemble(query.build_query_as::<Number>().fetch_all(pool).await?)));
    }
    let grid = count_briefly::<Number>(pool, query).await?.map(assemble);
    Ok(grid.map(|grid| DeadLetterGrid { is_least: grid.total > MAX_COUNTED, ..grid }))
}

/// One statement, and so one snapshot: the totals are those of the cells.
fn statement(scope: Scope, filter: &JobFilter, page: GridPageRequest) -> QueryBuilder<Postgres> {
    let mut sql = QueryBuilder::new("with found as materialized (");
    if is_kept(filter) {
        push_kept(&mut sql, scope, filter);
    } else {
        push_counted(&mut sql, scope, filter);
    }
    let cause = cause_of("f.fingerprint");
    sql.push(format_args!(
        "), causes as materialized (
             select {cause} as cause, sum(f.count)::bigint as count,
                 (array_agg(f.fingerprint order by f.count desc, f.fingerprint))[1] as most
             from found f group by 1
         ), integrations as materialized (
             select integration_id, sum(count)::bigint as count from found group by 1
         ), columns as materialized (
             select cause, count, most from causes where true"
    ));
    if let Some(Rank { count, id }) = page.causes_after {
        sql.push(" and (count, cause) < (").push_bind(count).push(", ").push_bind(id.to_string()).push(")");
    }
    sql.push(format_args!(
        " order by count desc, cause desc limit {}
         ), grid_rows as materialized (
             select integration_id, count from integrations where true",
        COLUMNS + 1
    ));
    if let Some(Rank { count, id }) = page.integrations_after {
        sql.push(" and (count, integration_id) < (").push_bind(count).push(", ").push_bind(id).push(")");
    }
    sql.push(format_args!(
        " order by count desc, integration_id desc limit {}
         )
         select null::uuid as integration_id, null::text as cause, coalesce(sum(count), 0)::bigint as count, null::text as error,
             count(*) as integrations, (select count(*) from causes) as causes
         from integrations
         union all
         select null, c.cause, c.count, newest.error_message, null, null
         from columns c
         -- The newest error message of the most frequent fingerprint: one index lookup, as in `groups`.
         left join lateral (
             select j.error_message from headgate.dead_letter_jobs j where j.fingerprint >= c.most and j.fingerprint <= c.most
             order by j.fingerprint desc, j.id desc limit 1
         ) newest on true
         union all
         select integration_id, null, count, null, null, null from grid_rows
         union all
         select f.integration_id, {cause}, sum(f.count)::bigint, null, null, null
         from found f
         where f.integration_id in (select integration_id from grid_rows) and {cause} in (select cause from columns)
         group by 1, 2",
        ROWS + 1
    ));
    sql
}

fn assemble(numbers: Vec<Number>) -> DeadLetterGrid {
    let mut grid = DeadLetterGrid::default();
    let mut cells = HashMap::new();
    let cause = |text: &str| text.parse().unwrap_or(CauseId(0));
    for number in numbers {
        match (number.integration_id, number.cause.as_deref()) {
            (None, None) => {
                grid.total = number.count;
                grid.integrations_total = number.integrations.unwrap_or_default();
                grid.causes_total = number.causes.unwrap_or_default();
            }
            (None, Some(id)) => grid.causes.push(GridCause {
                cause: cause(id),
                error: number.error.unwrap_or_default(),
                total: number.count,
            }),
            (Some(integration_id), None) => {
                grid.rows.push(GridRow { integration_id, total: number.count, counts: Vec::new() });
            }
            (Some(integration_id), Some(id)) => {
                cells.insert((integration_id, cause(id)), number.count);
            }
        }
    }
    grid.causes.sort_by_key(|column| std::cmp::Reverse((column.total, column.cause)));
    grid.rows.sort_by_key(|row| std::cmp::Reverse((row.total, row.integration_id)));
    grid.next_causes = cut(&mut grid.causes, COLUMNS, |last| Rank { count: last.total, id: last.cause });
    grid.next_integrations =
        cut(&mut grid.rows, ROWS, |last| Rank { count: last.total, id: last.integration_id });
    for row in &mut grid.rows {
        let of = |column: &GridCause| cells.get(&(row.integration_id, column.cause)).copied();
        row.counts = grid.causes.iter().map(|column| of(column).unwrap_or_default()).collect();
    }
    grid
}

/// Drops the surplus item, which was read to see whether there are more; returns the rank after which they follow.
fn cut<T, R>(items: &mut Vec<T>, limit: usize, rank: impl Fn(&T) -> R) -> Option<R> {
    let are_more = items.len() > limit;
    items.truncate(limit);
    items.last().filter(|_| are_more).map(rank)
}
