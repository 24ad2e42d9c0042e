//! `/rate-limits`

use super::{
    extract::{Can, Id, ListQuery, NoFilter, Query, Read, ReadDeployment},
    problem::Problem,
};
use crate::state::AppState;
use axum::{Json as Answer, extract::State};
use chrono::{DateTime, Utc};
use insight::store::rate_limits::{self, RateLimitRow};
use model::{
    id::{AppId, IntegrationId},
    limit_use::{LimitUse, LimitWindow},
    page::Page,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_rate_limits)).routes(routes!(list_limit_use))
}

#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct LimitUseParams {
    /// `1h` (default) in steps of a minute, or `24h` in steps of 15 minutes.
    #[param(inline)]
    window: LimitWindow,
}

/// The use of one of an integration's limits over time.
#[derive(Serialize, ToSchema)]
struct LimitOverTime {
    /// Identifies the limit; integrations that share a limit have the same key.
    key: String,
    /// Requests currently allowed per window.
    limit: i32,
    /// Length of the window in seconds.
    per_seconds: i32,
    /// The integrations it applies to.
    integration_ids: Vec<IntegrationId>,
    #[serde(flatten)]
    used: LimitUse,
}

/// One limit of one integration, and how much of it is used.
#[derive(Serialize, ToSchema)]
struct RateLimitStatus {
    /// The integration.
    integration_id: IntegrationId,
    /// The app it belongs to.
    app_id: AppId,
    /// The integration's name.
    integration_name: String,
    /// Integrations of an app with the same key share the limit; null: the limit is not shared.
    rate_limit_key: Option<String>,
    /// Requests allowed per window.
    limit: i32,
    /// Requests in the current window.
    used: i32,
    /// Length of the window in seconds.
    per_seconds: i32,
    /// When the next request may be sent; a time in the past means now.
    next_free_at: DateTime<Utc>,
    /// Nothing is sent until this time, because the external system answered 429.
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

/// Returns how much of each limit of an integration was used over time.
///
/// Each step has the slots given (exact, including those of integrations that share the limit), the number that the limit in force at the time
/// allowed, and the number of answers 429. A 429 although fewer slots were given than allowed means that the external system's limit is lower than
/// ours. `edited_at` lists when the limit was edited. Empty without a limit. Kept for 24 hours.
#[utoipa::path(get, path = "/integrations/{id}/rate-limit-use", tag = "Integrations", params(LimitUseParams),
    responses((status = 200, body = Page<LimitOverTime>)))]
async fn list_limit_use(
    actor: Can<Read>,
    State(state): State<AppState>,
    Id(id): Id<IntegrationId>,
    Query(params): Query<LimitUseParams>,
) -> Result<Answer<Page<LimitOverTime>>, Problem> {
    let pool = &state.console_pool;
    // 404 for an unknown integration; one without a limit has an empty list.
    state.delivery.integration(actor.scope(), id).await?;
    let asked = rate_limits::limits_of(pool, id).await?;
    let used = rate_limits::history(pool, &asked, params.window).await?;
    let items = asked.into_iter().zip(used).map(|(limit, used)| LimitOverTime {
        key: limit.key,
        limit: limit.requests,
        per_seconds: limit.per_seconds,
        integration_ids: limit.integrations,
        used,
    });
    Ok(Answer(Page { items: items.collect(), next_cursor: None }))
}

/// Lists every limit of every integration, on one page.
#[utoipa::path(get, path = "/rate-limits", tag = "Deployment", responses((status = 200, body = Page<RateLimitStatus>)))]
async fn list_rate_limits(
    actor: Can<ReadDeployment>,
    State(state): State<AppState>,
    _: ListQuery<NoFilter>,
) -> Result<Answer<Page<RateLimitStatus>>, Problem> {
    let rows = rate_limits::list(&state.console_pool, actor.scope(), None).await?;
    Ok(Answer(Page { items: rows.into_iter().map(RateLimitStatus::from).collect(), next_cursor: None }))
}
