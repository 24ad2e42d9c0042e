//! `/rate-limits`

use super::{
    extract::{Can, ListQuery, NoFilter, ReadDeployment},
    problem::Problem,
};
use crate::state::AppState;
use axum::{Json as Answer, extract::State};
use chrono::{DateTime, Utc};
use model::{
    id::{AppId, IntegrationId},
    page::Page,
};
use queue::store::rate_limits::{self, RateLimitRow};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_rate_limits))
}

/// One limit of one integration, and how much of it is used.
#[derive(Serialize, ToSchema)]
struct RateLimitStatus {
    /// Which integration.
    integration_id: IntegrationId,
    /// Whose.
    app_id: AppId,
    /// Its name.
    integration_name: String,
    /// Integrations of an app with the same key share the limit; null: its own.
    rate_limit_key: Option<String>,
    /// Requests allowed per window.
    limit: i32,
    /// Requests in the current window.
    used: i32,
    /// Length of the window.
    per_seconds: i32,
    /// When the next request may go out; in the past: now.
    next_free_at: DateTime<Utc>,
    /// The external system asked for quiet until then.
    held_until: Option<DateTime<Utc>>,
}

impl From<RateLimitRow> for RateLimitStatus {
    fn from(row: RateLimitRow) -> Self {
        Self {
            integration_id: row.integration_id,
            app_id: row.app_id,
            integration_name: row.integration_name,
            rate_limit_key: row.rate_limit_key,
            limit: row.requests,
            used: row.used,
            per_seconds: row.per_seconds,
            next_free_at: row.next_free_at,
            held_until: row.held_until,
        }
    }
}

/// Every limit of every integration, on one page.
#[utoipa::path(get, path = "/rate-limits", tag = "Deployment", responses((status = 200, body = Page<RateLimitStatus>)))]
async fn list_rate_limits(
    actor: Can<ReadDeployment>,
    State(state): State<AppState>,
    _: ListQuery<NoFilter>,
) -> Result<Answer<Page<RateLimitStatus>>, Problem> {
    let rows = rate_limits::list(&state.console_pool, actor.scope()).await?;
    Ok(Answer(Page { items: rows.into_iter().map(RateLimitStatus::from).collect(), next_cursor: None }))
}
