//! The feed: each source gives its newest rows by primary key, and the newest of those are the page.

use chrono::{DateTime, Utc};
use model::activity::{Activity, ActivityKind, ActivityParts, Span};
use model::actor::Scope;
use model::id::{AppId, IntegrationId};
use model::page::PageRequest;
use sqlx::PgPool;
use uuid::{Builder, Uuid};

pub(crate) async fn list(
    pool: &PgPool,
    scope: Scope,
    span: Span,
    page: PageRequest,
) -> Result<Vec<Activity>, sqlx::Error> {
    let rows = sqlx::query_file_as!(
        Row,
        "src/store/activity.sql",
        page.after,
        page.limit + 1,
        scope.app_id() as Option<AppId>,
        // An id has its time to the millisecond, but of the clock of the process that made it, which may differ a little from the database's.
        span.from.map(|from| at_id(from - chrono::TimeDelta::minutes(1))),
        span.until.map(|until| at_id(until + chrono::TimeDelta::minutes(1))),
        span.from,
        span.until,
    )
    .fetch_all(pool)
    .await?;
    Ok(rows.into_iter().map(Activity::from).collect())
}

/// The smallest id of a moment.
fn at_id(at: DateTime<Utc>) -> Uuid {
    let millis = u64::try_from(at.timestamp_millis()).unwrap_or(0);
    Builder::from_unix_timestamp_millis(millis, &[0; 10]).into_uuid()
}

struct Row {
    id: Uuid,
    at: DateTime<Utc>,
    source: String,
    action: String,
    app_id: Option<AppId>,
    integration_id: Option<IntegrationId>,
    name: Option<String>,
    actor: Option<String>,
    reason: Option<String>,
    count: Option<i64>,
    fields: Vec<String>,
    version: Option<String>,
}

impl From<Row> for Activity {
    fn from(row: Row) -> Self {
        let parts = ActivityParts {
            action: &row.action,
            name: row.name.as_deref(),
            actor: row.actor.as_deref(),
            count: row.count,
            fields: &row.fields,
            version: row.version.as_deref(),
        };
        let kind = match (row.source.as_str(), row.action.as_str()) {
            ("flip", _) => ActivityKind::Breaker,
            ("action", _) => ActivityKind::Action,
            (_, "deploy") => ActivityKind::Deploy,
            (_, "start") => ActivityKind::Start,
            (_, "view.alert" | "view.calm") => ActivityKind::Alert,
            _ => ActivityKind::Pause,
        };
        Self {
            id: row.id,
            at: row.at,
            kind,
            message: parts.message(),
            reason: row.reason,
            app_id: row.app_id,
            integration_id: row.integration_id,
            action: row.action,
            actor: row.actor,
        }
    }
}
