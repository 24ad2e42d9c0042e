//! Reading dead letters.

use super::found::{is_kept, push_kept};
use crate::store::job_lists::arms::Arm;
use crate::store::job_lists::walk::{self, Listing};
use chrono::{DateTime, Utc};
use model::actor::Scope;
use model::attempt::Attempt;
use model::dead_letter::{DeadLetter, DeadLetterGroup, GroupPageRequest};
use model::filter::JobFilter;
use model::id::{AppId, DeadLetterId, IntegrationId, JobId};
use model::job::JobStatus;
use model::page::{Order, Page, PageRequest};
use model::rules::narrowing;
use model::rules::verdict::ErrorKind;
use queue::error::QueueError;
use queue::store::jobs::{Part, push_scope};
use serde_json::Value;
use sqlx::{PgPool, Postgres, QueryBuilder, types::Json};
use std::{cmp::Reverse, collections::HashMap};

/// Dead letters that are grouped where no counters are kept. Ten times as many are scanned.
const MAX_GROUPED: i64 = 3_000;

/// A row of the table, or one saved in the bin.
#[derive(sqlx::FromRow, serde::Deserialize)]
pub(super) struct Row {
    id: DeadLetterId,
    job_id: JobId,
    app_id: AppId,
    integration_id: IntegrationId,
    job_type: String,
    payload: Option<Value>,
    record_type: Option<String>,
    record_id: Option<String>,
    correlation_id: String,
    correlation_ids: Option<Vec<String>>,
    earlier_correlations: Option<i32>,
    attempts: Json<Vec<Attempt>>,
    error_kind: String,
    error_message: String,
    fingerprint: String,
    failed_at: DateTime<Utc>,
    created_at: DateTime<Utc>,
}

const SELECT: &str = "select j.id, j.job_id, j.app_id, j.integration_id, j.job_type, coalesce(j.sent_body, j.payload) as payload, \
     j.record_type, j.record_id, j.correlation_id, j.correlation_ids, j.earlier_correlations, j.attempts, j.error_kind, j.error_message, j.fingerprint, j.failed_at, \
     j.created_at";

impl From<Row> for DeadLetter {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            job_id: row.job_id,
            app_id: row.app_id,
            integration_id: row.integration_id,
            job_type: row.job_type,
            payload: row.payload,
            record_type: row.record_type,
            record_id: row.record_id,
            correlation_ids: row.correlation_ids.unwrap_or_else(|| vec![row.correlation_id.clone()]),
            earlier_correlations: row.earlier_correlations.unwrap_or_default(),
            correlation_id: row.correlation_id,
            attempts: row.attempts.0,
            error_kind: row.error_kind.parse().unwrap_or(ErrorKind::NotRetryable),
            error_message: row.error_message,
            fingerprint: row.fingerprint,
            failed_at: row.failed_at,
            created_at: row.created_at,
        }
    }
}

/// Dead letters, newest first. Like a page of [`crate::store::job_lists::list`], a page ends when enough rows have been scanned.
///
/// # Errors
/// `Invalid` when the filter needs another one; [`QueueError::Timeout`] when it is too wide.
pub async fn list(
    pool: &PgPool,
    scope: Scope,
    filter: &JobFilter,
    page: PageRequest,
) -> Result<Page<DeadLetter>, QueueError> {
    read(pool, scope, filter, page, |_| SELECT.to_owned()).await
}

/// The same without payloads, for pages that show none.
///
/// # Errors
/// As [`list`].
pub async fn list_without_payloads(
    pool: &PgPool,
    scope: Scope,
    filter: &JobFilter,
    page: PageRequest,
) -> Result<Page<DeadLetter>, QueueError> {
    let columns = |_| SELECT.replace("coalesce(j.sent_body, j.payload) as payload", "null::jsonb as payload");
    read(pool, scope, filter, page, columns).await
}

async fn read(
    pool: &PgPool,
    scope: Scope,
    filter: &JobFilter,
    page: PageRequest,
    columns: fn(Part) -> String,
) -> Result<Page<DeadLetter>, QueueError> {
    check(filter)?;
    let arms = Arm::of_dead_letters(scope, filter);
    let letters = Listing { id: |_| "j.id", id_of: |row: &Row| row.id.0, columns };
    Ok(walk::page(pool, &arms, &letters, page, Order::Newest).await?.map(DeadLetter::from))
}

/// Checks the filter as one for the status "failed", which all dead letters have.
pub(super) fn check(filter: &JobFilter) -> Result<(), QueueError> {
    narrowing::check(&JobFilter { status: Some(JobStatus::Failed), ..filter.clone() }, Utc::now())?;
    Ok(())
}

/// One dead letter.
///
/// # Errors
/// [`QueueError::NotFound`] when there is none in scope.
pub async fn get(pool: &PgPool, scope: Scope, id: DeadLetterId) -> Result<DeadLetter, QueueError> {
    let mut query = QueryBuilder::new(SELECT);
    query.push(" from ").push(Part::Dead.table()).push(" where j.id = ").push_bind(id.0);
    push_scope(&mut query, scope, Part::Dead);
    let row = query.build_query_as::<Row>().fetch_optional(pool).await?;
    row.map(DeadLetter::from).ok_or(QueueError::NotFound)
}

#[derive(sqlx::FromRow)]
struct Group {
    fingerprint: String,
    error: String,
    integration_id: IntegrationId,
    count: i64,
    first_at: DateTime<Utc>,
    last_at: DateTime<Utc>,
}

/// Dead letters by cause and integration, the largest groups first. Filters by app, integration and cause are answered from counters. Others
/// group the newest that match, and say where there may be more. A group that grows or shrinks between two pages may be listed twice or not
/// at all.
///
/// # Errors
/// `Invalid` when the filter needs another one; [`QueueError::Timeout`] when it is too wide.
pub async fn groups(
    pool: &PgPool,
    scope: Scope,
    filter: &JobFilter,
    page: &GroupPageRequest,
) -> Result<Page<DeadLetterGroup>, QueueError> {
    check(filter)?;
    if !is_kept(filter) {
        return counted_groups(pool, scope, filter, page).await;
    }
    let groups = kept_groups(scope, filter, page).build_query_as::<Group>().fetch_all(pool).await?;
    let groups = groups.into_iter().map(|group| DeadLetterGroup {
        fingerprint: group.fingerprint,
        error: group.error,
        integration_id: group.integration_id,
        count: group.count,
        is_least: false,
        first_at: group.first_at,
        last_at: group.last_at,
    });
    Ok(Page::of_groups(groups.collect(), page.limit))
}

/// The first and the last of a group are one index lookup each. The fingerprint is compared with `>=` and `<=`: with `=` the planner would walk all
/// letters in the order of their ids until it finds a match.
fn kept_groups(scope: Scope, filter: &JobFilter, page: &GroupPageRequest) -> QueryBuilder<Postgres> {
    let mut query = QueryBuilder::new("with found as (");
    push_kept(&mut query, scope, filter);
    query.push("), largest as (select fingerprint, integration_id, count from found");
    push_page(&mut query, page);
    query.push(
        ")
         select l.fingerprint, newest.error_message as error, l.integration_id, l.count, oldest.failed_at as first_at,
             newest.failed_at as last_at
         from largest l
         cross join lateral (
             select j.failed_at from headgate.dead_letter_jobs j
             where j.fingerprint >= l.fingerprint and j.fingerprint <= l.fingerprint
             order by j.fingerprint, j.id limit 1
         ) oldest
         cross join lateral (
             select j.failed_at, j.error_message from headgate.dead_letter_jobs j
             where j.fingerprint >= l.fingerprint and j.fingerprint <= l.fingerprint
             order by j.fingerprint desc, j.id desc limit 1
         ) newest
         order by l.count desc, l.fingerprint, l.integration_id",
    );
    query
}

/// Appends the page's condition and limit for `found`: one row more than the page has.
fn push_page(query: &mut QueryBuilder<Postgres>, page: &GroupPageRequest) {
    if let Some(after) = &page.after {
        query.push(" where count < ").push_bind(after.count).push(" or count = ").push_bind(after.count);
        query.push(" and (fingerprint, integration_id) > (").push_bind(after.fingerprint.clone()).push(", ");
        query.push_bind(after.integration_id.0).push(")");
    }
    query.push(" order by count desc, fingerprint, integration_id limit ").push_bind(page.limit + 1);
}

#[derive(sqlx::FromRow)]
struct Counted {
    id: DeadLetterId,
    fingerprint: String,
    integration_id: IntegrationId,
    error_message: String,
    failed_at: DateTime<Utc>,
}

/// Groups one long page of the list: matches that no index leads to would otherwise be searched for among all dead letters.
async fn counted_groups(
    pool: &PgPool,
    scope: Scope,
    filter: &JobFilter,
    page: &GroupPageRequest,
) -> Result<Page<DeadLetterGroup>, QueueError> {
    let arms = Arm::of_dead_letters(scope, filter);
    let letters = Listing {
        id: |_| "j.id",
        id_of: |letter: &Counted| letter.id.0,
        columns: |_| "select j.id, j.fingerprint, j.integration_id, j.error_message, j.failed_at".to_owned(),
    };
    let newest = PageRequest { limit: MAX_GROUPED, after: None };
    let newest = walk::page(pool, &arms, &letters, newest, Order::Newest).await?;
    let is_least = newest.next_cursor.is_some();
    let mut groups: HashMap<(String, IntegrationId), DeadLetterGroup> = HashMap::new();
    for letter in newest.items {
        let group =
            groups.entry((letter.fingerprint.clone(), letter.integration_id)).or_insert(DeadLetterGroup {
                fingerprint: letter.fingerprint,
                error: letter.error_message,
                integration_id: letter.integration_id,
                count: 0,
                is_least,
                first_at: letter.failed_at,
                last_at: letter.failed_at,
            });
        group.count += 1;
        group.first_at = group.first_at.min(letter.failed_at);
        group.last_at = group.last_at.max(letter.failed_at);
    }
    let rank =
        |group: &DeadLetterGroup| (Reverse(group.count), group.fingerprint.clone(), group.integration_id);
    let mut groups: Vec<_> = groups.into_values().collect();
    if let Some(after) = &page.after {
        let after = (Reverse(after.count), after.fingerprint.clone(), after.integration_id);
        groups.retain(|group| rank(group) > after);
    }
    groups.sort_by_cached_key(rank);
    Ok(Page::of_groups(groups, page.limit))
}
