//! The feed: each source gives its newest, by primary key, and the newest of those are the page.

use crate::activity::Span;
use chrono::{DateTime, Utc};
use model::{
    activity::{Activity, ActivityKind, Told},
    actor::Scope,
    id::{AppId, IntegrationId},
    page::PageRequest,
};
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
        // An id tells its time to the millisecond, but its maker's clock may differ from the database's by a little.
        span.from.map(|from| at_id(from - chrono::TimeDelta::minutes(1))),
        span.until.map(|until| at_id(until + chrono::TimeDelta::minutes(1))),
        span.from,
        span.until,
    )
    .fetch_all(pool)
    .await?;
    Ok(rows.into_iter().map(Row::told).collect())
}

/// The least id of a moment.
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

impl Row {
    fn told(self) -> Activity {
        let told = Told {
            action: &self.action,
            name: self.name.as_deref(),
            actor: self.actor.as_deref(),
            count: self.count,
            fields: &self.fields,
            version: self.version.as_deref(),
        };
        let kind = match (self.source.as_str(), self.action.as_str()) {
            ("flip", _) => ActivityKind::Breaker,
            ("action", _) => ActivityKind::Action,
            (_, "deploy") => ActivityKind::Deploy,
            (_, "start") => ActivityKind::Start,
            (_, "view.alert" | "view.calm") => ActivityKind::Alert,
            _ => ActivityKind::Pause,
        };
        Activity {
            id: self.id,
            at: self.at,
            kind,
            message: told.message(),
            reason: self.reason,
            app_id: self.app_id,
            integration_id: self.integration_id,
            action: self.action,
            actor: self.actor,
        }
    }
}
