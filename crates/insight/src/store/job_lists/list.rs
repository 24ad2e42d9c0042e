//! Lists of jobs of every status, newest first. SQL is built at run time here: a condition that is not wanted is absent, because an optional
//! parameter would defeat the index.

use crate::store::job_lists::arms::{AccessPath, Arm, MAX_DUE};
use crate::store::job_lists::walk::{self, Listing};
use chrono::Utc;
use model::actor::Scope;
use model::filter::JobFilter;
use model::job::{Job, JobStatus};
use model::page::{Order, Page, PageRequest};
use model::problem::Faults;
use model::rules::narrowing;
use queue::error::QueueError;
use queue::store::jobs::Part;
use queue::store::jobs::read::rows::{self, JobRow};
use sqlx::PgPool;

/// Jobs of every status, newest first; finished ones of the last 24 hours unless the filter has a lower bound. A page of a filter that no index
/// serves ends after a number of scanned rows: it may have fewer jobs than its limit, or none, and still a next page.
///
/// # Errors
/// `Invalid` when the filter is only allowed together with another one; [`QueueError::Timeout`] when it is too wide for the pool's
/// `statement_timeout`.
pub async fn list(
    pool: &PgPool,
    scope: Scope,
    filter: &JobFilter,
    page: PageRequest,
) -> Result<Page<Job>, QueueError> {
    let arms = arms(pool, scope, filter, Order::Newest).await?;
    read(pool, &arms, rows::columns, page, Order::Newest).await
}

/// The same, beginning with the newest or the oldest, and without payloads, for pages that show none.
///
/// # Errors
/// As [`list`]; `Invalid` also when no index can begin with the oldest of these.
pub async fn list_from(
    pool: &PgPool,
    scope: Scope,
    filter: &JobFilter,
    page: PageRequest,
    order: Order,
) -> Result<Page<Job>, QueueError> {
    let arms = arms(pool, scope, filter, order).await?;
    read(pool, &arms, rows::columns_without_payload, page, order).await
}

async fn arms<'f>(
    pool: &PgPool,
    scope: Scope,
    filter: &'f JobFilter,
    order: Order,
) -> Result<Vec<Arm<'f>>, QueueError> {
    narrowing::check(filter, Utc::now())?;
    if order == Order::Oldest && !narrowing::may_begin_with_oldest(filter) {
        let mut faults = Faults::default();
        faults.add(
            "sort",
            "=oldest needs a status other than completed and cancelled, max_age or created_after beside it",
        );
        return Err(faults.into());
    }
    let mut arms = Arm::of(Part::of(filter).filter(|part| may_match(*part, filter)), scope, filter);
    if filter.status == Some(JobStatus::Retrying) && are_few_due(pool).await? {
        arms = arms.into_iter().map(Arm::by_due).collect();
        arms.dedup_by(|one, other| one.path == AccessPath::Due && other.path == AccessPath::Due);
    }
    Ok(arms)
}

async fn read(
    pool: &PgPool,
    arms: &[Arm<'_>],
    columns: fn(Part) -> String,
    page: PageRequest,
    order: Order,
) -> Result<Page<Job>, QueueError> {
    if arms.is_empty() {
        return Ok(Page { items: Vec::new(), next_cursor: None });
    }
    let jobs = Listing { id: Part::job_id, id_of: |row: &JobRow| row.id.0, columns };
    Ok(walk::page(pool, arms, &jobs, page, order).await?.map(Job::from))
}

/// Whether only few retries are due. Usually they are, however many wait for their time, because workers take them at once.
async fn are_few_due(pool: &PgPool) -> Result<bool, QueueError> {
    let due = sqlx::query_scalar!(
        r#"
        select count(*) as "n!" from (
            select from headgate.failing_jobs f where f.due_at <= now() order by f.due_at limit $1
        ) due
        "#,
        MAX_DUE + 1
    );
    Ok(due.fetch_one(pool).await? <= MAX_DUE)
}

pub(super) fn may_match(part: Part, filter: &JobFilter) -> bool {
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
