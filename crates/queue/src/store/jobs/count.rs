//! How many jobs a filter finds: of each place up to ten thousand, for as long as a page may wait.

use super::{
    arms::Arm,
    filter::Part,
    list::{list_from, may_hold},
};
use crate::{error::QueueError, store::count_briefly::count_briefly};
use chrono::Utc;
use model::{
    actor::Scope,
    filter::JobFilter,
    job::{Job, JobStatus},
    matched::{AtLeast, MOST, Matched},
    page::{Order, Page, PageRequest},
    rules::narrowing,
};
use sqlx::{PgPool, Postgres, QueryBuilder};

/// So many are counted of each place for the number beside a list, which waits for it.
const BESIDE: i64 = 1_000;

/// None when counting would take too long: a filter that no index serves.
///
/// # Errors
/// `Invalid` when the filter needs another one beside it, and when the database is away.
pub async fn count(pool: &PgPool, scope: Scope, filter: &JobFilter) -> Result<Option<Matched>, QueueError> {
    count_to(pool, scope, filter, MOST).await
}

async fn count_to(
    pool: &PgPool,
    scope: Scope,
    filter: &JobFilter,
    most: i64,
) -> Result<Option<Matched>, QueueError> {
    narrowing::check(filter, Utc::now())?;
    let Some(query) = statement(scope, filter, most) else { return Ok(Some(Matched::default())) };
    let found = count_briefly::<(String, i64)>(pool, query).await?;
    Ok(found.map(|found| add_up(filter, &found, most)))
}

/// [`list_from`] and [`count`] at once; a list that all jobs stand in is not counted, and one that cannot be counted is there all the same.
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
    let (found, matched) =
        tokio::join!(list_from(pool, scope, filter, page, order), count_to(pool, scope, filter, BESIDE));
    let found = found?;
    let shown = found.items.len();
    Ok((found, matched.ok().flatten().map(|matched| matched.beside(shown))))
}

/// By way and status.
fn statement(scope: Scope, filter: &JobFilter, most: i64) -> Option<QueryBuilder<Postgres>> {
    let arms = Arm::of(Part::of(filter).filter(|part| may_hold(*part, filter)), scope, filter);
    let limit = format!(" limit {}", most + 1);
    let mut query = QueryBuilder::new("");
    for (n, arm) in arms.iter().enumerate() {
        query.push(if n == 0 { "" } else { " union all " });
        query.push("select found.status, count(*) from (select * from (");
        let select = format!("select {} as status", arm.part.status());
        arm.push(&mut query, &select, |query| {
            query.push(&limit);
        });
        query.push(") each").push(&limit).push(") found group by found.status");
    }
    (!arms.is_empty()).then_some(query)
}

/// What is counted of a place that holds more than are counted is as much as was met.
fn add_up(filter: &JobFilter, found: &[(String, i64)], most: i64) -> Matched {
    let mut matched = Matched::default();
    let statuses: Vec<(JobStatus, i64)> =
        found.iter().filter_map(|(status, n)| Some((status.parse().ok()?, *n))).collect();
    let live: i64 = statuses.iter().filter(|(status, _)| status.is_live()).map(|(_, n)| n).sum();
    matched.all += AtLeast { n: live.min(most), is_more: live > most };
    for (status, n) in statuses {
        let is_more = if status.is_live() { live > most } else { n > most };
        let here = AtLeast { n: n.min(most), is_more };
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
    fn what_can_be_done_is_of_the_scope_of_what_is_listed() {
        let found = [("pending", 3), ("to_be_retried", 2), ("completed", 7), ("cancelled", 1), ("failed", 4)];
        let found: Vec<(String, i64)> = found.into_iter().map(|(word, n)| (word.to_owned(), n)).collect();
        let of = |filter: &JobFilter| {
            let Matched { all, requeue, cancel } = add_up(filter, &found, MOST);
            (all.n, requeue.n, cancel.n)
        };
        assert_eq!(of(&JobFilter::default()), (17, 6, 5));
        let cancelled = JobFilter { status: Some(JobStatus::Cancelled), ..JobFilter::default() };
        assert_eq!(of(&cancelled).1, 7);
    }

    #[test]
    fn more_than_are_counted_of_a_place_makes_its_parts_uncertain() {
        let found = [("pending".to_owned(), MOST - 4), ("retrying".to_owned(), 5), ("failed".to_owned(), 9)];
        let matched = add_up(&JobFilter::default(), &found, MOST);
        assert_eq!(matched.requeue.to_string(), "14+");
        assert_eq!(matched.cancel.to_string(), "10,000+");
        assert_eq!(matched.all.to_string(), "10,000+");
        let fewer = add_up(
            &JobFilter::default(),
            &[("pending".to_owned(), 900), ("retrying".to_owned(), 101)],
            1_000,
        );
        assert_eq!(fewer.all.to_string(), "1,000+");
    }
}
