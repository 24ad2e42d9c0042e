//! How many jobs a filter matches: in each part up to ten thousand are counted, for as long as a page may wait.

use super::arms::Arm;
use super::list::{list_from, may_match};
use crate::store::count_briefly::count_briefly;
use chrono::Utc;
use model::actor::Scope;
use model::filter::JobFilter;
use model::job::{Job, JobStatus};
use model::matched::{AtLeast, MAX_COUNTED, Matched};
use model::page::{Order, Page, PageRequest};
use model::rules::narrowing;
use queue::{error::QueueError, store::jobs::Part};
use sqlx::{PgPool, Postgres, QueryBuilder};

/// How many are counted in each part for the number shown with a list. It is low, because the list waits for it.
const MAX_BESIDE_LIST: i64 = 1_000;

/// How many jobs match. None when counting would take too long: no index serves the filter.
///
/// # Errors
/// `Invalid` when the filter is only allowed together with another one.
pub async fn count(pool: &PgPool, scope: Scope, filter: &JobFilter) -> Result<Option<Matched>, QueueError> {
    count_to(pool, scope, filter, MAX_COUNTED).await
}

async fn count_to(
    pool: &PgPool,
    scope: Scope,
    filter: &JobFilter,
    limit: i64,
) -> Result<Option<Matched>, QueueError> {
    narrowing::check(filter, Utc::now())?;
    let Some(query) = statement(scope, filter, limit) else { return Ok(Some(Matched::default())) };
    let found = count_briefly::<(String, i64)>(pool, query).await?;
    Ok(found.map(|found| sum(filter, &found, limit)))
}

/// [`list_from`] and [`count`] at once. A list without a filter is not counted, and one that cannot be counted is returned all the same.
///
/// # Errors
/// As [`list_from`].
pub async fn list_counted(
    pool: &PgPool,
    scope: Scope,
    filter: &JobFilter,
    page: PageRequest,
    order: Order,
) -> Result<(Page<Job>, Option<Matched>), QueueError> {
    if filter.is_empty() {
        return Ok((list_from(pool, scope, filter, page, order).await?, None));
    }
    let (found, matched) = tokio::join!(
        list_from(pool, scope, filter, page, order),
        count_to(pool, scope, filter, MAX_BESIDE_LIST)
    );
    let found = found?;
    let shown = found.items.len();
    Ok((found, matched.ok().flatten().map(|matched| matched.at_least_shown(shown))))
}

fn statement(scope: Scope, filter: &JobFilter, limit: i64) -> Option<QueryBuilder<Postgres>> {
    let arms = Arm::of(Part::of(filter).filter(|part| may_match(*part, filter)), scope, filter);
    let limit_clause = format!(" limit {}", limit + 1);
    let mut query = QueryBuilder::new("");
    for (n, arm) in arms.iter().enumerate() {
        query.push(if n == 0 { "" } else { " union all " });
        query.push("select found.status, count(*) from (select * from (");
        let select = format!("select {} as status", arm.part.status());
        arm.push(&mut query, &select, |query| {
            query.push(&limit_clause);
        });
        query.push(") each").push(&limit_clause).push(") found group by found.status");
    }
    (!arms.is_empty()).then_some(query)
}

/// Where a part has more jobs than are counted, the numbers of its statuses are lower bounds.
fn sum(filter: &JobFilter, found: &[(String, i64)], limit: i64) -> Matched {
    let mut matched = Matched::default();
    let statuses: Vec<(JobStatus, i64)> =
        found.iter().filter_map(|(status, n)| Some((status.parse().ok()?, *n))).collect();
    let live: i64 = statuses.iter().filter(|(status, _)| status.is_live()).map(|(_, n)| n).sum();
    matched.all += AtLeast { n: live.min(limit), is_more: live > limit };
    for (status, n) in statuses {
        let is_more = if status.is_live() { live > limit } else { n > limit };
        let here = AtLeast { n: n.min(limit), is_more };
        if !status.is_live() {
            matched.all += here;
        }
        let is_requeued = match status {
            JobStatus::ToBeRetried | JobStatus::Retrying | JobStatus::Failed => true,
            JobStatus::Cancelled => filter.status == Some(JobStatus::Cancelled),
            JobStatus::Pending | JobStatus::Processing | JobStatus::Completed => false,
        };
        if is_requeued {
            matched.requeue += here;
        }
        if status.is_live() {
            matched.cancel += here;
        }
    }
    matched
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_counted_among_the_listed_jobs() {
        let found = [("pending", 3), ("to_be_retried", 2), ("completed", 7), ("cancelled", 1), ("failed", 4)];
        let found: Vec<(String, i64)> = found.into_iter().map(|(word, n)| (word.to_owned(), n)).collect();
        let of = |filter: &JobFilter| {
            let Matched { all, requeue, cancel } = sum(filter, &found, MAX_COUNTED);
            (all.n, requeue.n, cancel.n)
        };
        assert_eq!(of(&JobFilter::default()), (17, 6, 5));
        let cancelled = JobFilter { status: Some(JobStatus::Cancelled), ..JobFilter::default() };
        assert_eq!(of(&cancelled).1, 7);
    }

    #[test]
    fn a_part_with_more_than_the_limit_makes_its_counts_lower_bounds() {
        let found =
            [("pending".to_owned(), MAX_COUNTED - 4), ("retrying".to_owned(), 5), ("failed".to_owned(), 9)];
        let matched = sum(&JobFilter::default(), &found, MAX_COUNTED);
        assert_eq!(matched.requeue.to_string(), "14+");
        assert_eq!(matched.cancel.to_string(), "10,000+");
        assert_eq!(matched.all.to_string(), "10,000+");
        let fewer =
            sum(&JobFilter::default(), &[("pending".to_owned(), 900), ("retrying".to_owned(), 101)], 1_000);
        assert_eq!(fewer.all.to_string(), "1,000+");
    }
}
