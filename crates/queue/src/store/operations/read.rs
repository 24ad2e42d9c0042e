//! Bulk actions as people see them.

use crate::error::QueueError;
use chrono::{DateTime, Utc};
use model::{
    actor::Scope,
    filter::JobFilter,
    id::{AppId, OperationId},
    operation::Operation,
    page::{Page, PageRequest},
};
use sqlx::{PgPool, types::Json};

/// A row as it is read.
pub(super) struct Row {
    pub id: OperationId,
    pub subject: String,
    pub action: String,
    pub filter: Json<JobFilter>,
    pub state: String,
    pub reason: Option<String>,
    pub requested_by: String,
    pub matched: i64,
    pub changed: i64,
    pub skipped: i64,
    pub rate_per_second: Option<i32>,
    pub hold_until: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    pub started_at: Option<DateTime<Utc>>,
    pub finished_at: Option<DateTime<Utc>>,
}

impl TryFrom<Row> for Operation {
    type Error = QueueError;

    fn try_from(row: Row) -> Result<Self, QueueError> {
        // CHECKs of the table admit known names only.
        let unknown = |error: model::integration::UnknownName| sqlx::Error::Decode(Box::new(error));
        Ok(Self {
            id: row.id,
            subject: row.subject.parse().map_err(unknown)?,
            action: row.action.parse().map_err(unknown)?,
            filter: row.filter.0,
            state: row.state.parse().map_err(unknown)?,
            reason: row.reason,
            requested_by: row.requested_by,
            matched: row.matched,
            changed: row.changed,
            skipped: row.skipped,
            rate_per_second: row.rate_per_second,
            hold_until: row.hold_until,
            created_at: row.created_at,
            started_at: row.started_at,
            finished_at: row.finished_at,
        })
    }
}

/// One bulk action.
///
/// # Errors
/// `NotFound` when the scope has none of that id.
pub async fn get(pool: &PgPool, scope: Scope, id: OperationId) -> Result<Operation, QueueError> {
    sqlx::query_as!(
        Row,
        r#"
        select id as "id: OperationId", subject, action, filter as "filter: Json<JobFilter>", state, reason, requested_by, matched,
            changed, skipped, rate_per_second, hold_until, created_at, started_at, finished_at
        from headgate.operations
        where id = $1 and ($2::uuid is null or app_id = $2)
        "#,
        id as OperationId,
        scope.app_id() as Option<AppId>,
    )
    .fetch_optional(pool)
    .await?
    .ok_or(QueueError::NotFound)?
    .try_into()
}

/// Bulk actions, newest first.
///
/// # Errors
/// When the database cannot be asked.
pub async fn list(pool: &PgPool, scope: Scope, page: PageRequest) -> Result<Page<Operation>, QueueError> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        select id as "id: OperationId", subject, action, filter as "filter: Json<JobFilter>", state, reason, requested_by, matched,
            changed, skipped, rate_per_second, hold_until, created_at, started_at, finished_at
        from headgate.operations
        where ($1::uuid is null or app_id = $1) and ($2::uuid is null or id < $2)
        order by id desc
        limit $3
        "#,
        scope.app_id() as Option<AppId>,
        page.after,
        page.limit + 1,
    )
    .fetch_all(pool)
    .await?;
    let operations = rows.into_iter().map(Operation::try_from).collect::<Result<Vec<_>, _>>()?;
    Ok(Page::from_surplus(operations, page.limit, |operation| operation.id.0))
}
