//! Lists of jobs in every state, newest first. SQL is put together at run time here: a condition that is not asked for is absent
//! instead of a parameter that defeats the index.

use crate::{
    error::QueueError,
    store::jobs::{
        filter::{self, Part},
        rows::{JobRow, push_select},
    },
};
use chrono::Utc;
use model::{
    actor::Scope,
    filter::JobFilter,
    job::{Job, JobStatus},
    page::{Order, Page, PageRequest},
    problem::Faults,
    rules::narrowing,
};
use sqlx::{PgPool, Postgres, QueryBuilder};

/// Jobs in every state, newest first; finished ones of the last 24 hours unless the filter says since when.
///
/// # Errors
/// `Invalid` when the filter needs another one beside it; [`QueueError::Timeout`] when it is too wide for the pool's `statement_timeout`.
pub async fn list(
    pool: &PgPool,
    scope: Scope,
    filter: &JobFilter,
    page: PageRequest,
) -> Result<Page<Job>, QueueError> {
    list_from(pool, scope, filter, page, Order::Newest).await
}

/// The same, beginning with the newest or the oldest.
///
/// # Errors
/// As [`list`]; `Invalid` also when no index begins with the oldest of these.
pub async fn list_from(
    pool: &PgPool,
    scope: Scope,
    filter: &JobFilter,
    page: PageRequest,
    order: Order,
) -> Result<Page<Job>, QueueError> {
    narrowing::check(filter, Utc::now())?;
    if order == Order::Oldest && !narrowing::may_begin_with_oldest(filter) {
        let mut faults = Faults::default();
        faults.add(
            "sort",
            "=oldest needs a status other than completed and cancelled, max_age or created_after beside it",
        );
        return Err(faults.into());
    }
    let Some(mut query) = statement(scope, filter, page, order) else {
        return Ok(Page { items: Vec::new(), next_cursor: None });
    };
    let rows = query.build_query_as::<JobRow>().fetch_all(pool).await?;
    Ok(Page::from_surplus(rows, page.limit, |row| row.id.0).map(Job::from))
}

/// The union of all parts that may hold a match, each limited by itself; none when no part may.
pub(crate) fn statement(
    scope: Scope,
    filter: &JobFilter,
    page: PageRequest,
    order: Order,
) -> Option<QueryBuilder<Postgres>> {
    let (beyond, direction) = match order {
        Order::Newest => ("<", "desc"),
        Order::Oldest => (">", "asc"),
    };
    let mut query = QueryBuilder::new("select * from (");
    let mut is_first = true;
    for part in Part::of(filter).filter(|part| may_hold(*part, filter)) {
        query.push(if is_first { "(" } else { " union all (" });
        push_select(&mut query, part, filter.correlation_id.as_ref());
        is_first = false;
        filter::push_scope(&mut query, scope, part);
        filter::push(&mut query, filter, part);
        if let Some(after) = page.after {
            query.push(format_args!(" and {} {beyond} ", part.job_id())).push_bind(after);
        }
        query.push(format_args!(" order by {} {direction} limit {})", part.job_id(), page.limit + 1));
    }
    query.push(format_args!(") found order by id {direction} limit {}", page.limit + 1));
    (!is_first).then_some(query)
}

/// A part that cannot hold a match is not asked.
pub(super) fn may_hold(part: Part, filter: &JobFilter) -> bool {
    let by_status = filter.status.is_none_or(|status| match part {
        Part::Live | Part::Failing => status.is_live(),
        Part::Successors => status == JobStatus::Pending,
        Part::Finished => matches!(status, JobStatus::Completed | JobStatus::Cancelled),
        Part::Dead => status == JobStatus::Failed,
    });
    let by_error = filter.error.is_none() || matches!(part, Part::Live | Part::Failing | Part::Dead);
    let has_end = filter.finished_after.is_some() || filter.finished_before.is_some();
    let by_end = !has_end || matches!(part, Part::Finished | Part::Dead);
    let was_tried = filter.response_status.is_some() || filter.worker_id.is_some();
    let by_trial = !was_tried || part != Part::Successors;
    let by_cause = filter.fingerprint.is_none() || matches!(part, Part::Live | Part::Failing | Part::Dead);
    by_status && by_error && by_end && by_trial && by_cause
}
