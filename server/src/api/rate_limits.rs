//! `/rate-limits`

use super::extract::{Can, Id, ListQuery, NoFilter, Query, Read, ReadDeployment};
use super::problem::JsonResult;
use crate::state::AppState;
use axum::Json as Answer;
use model::id::IntegrationId;
use model::limit_use::{LimitOverTime, LimitWindow};
use model::page::Page;
use model::rate_limit::RateLimitStatus;
use serde::Deserialize;
use utoipa::IntoParams;
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

/// Returns how much of each limit of an integration was used over time.
///
/// Each step has the slots given (exact, including those of integrations that share the limit), the number that the limit in force at the time
/// allowed, and the number of answers 429. A 429 although fewer slots were given than allowed means that the external system's limit is lower than
/// ours. `edited_at` lists when the limit was edited. Empty without a limit. Kept for 24 hours.
#[utoipa::path(get, path = "/integrations/{id}/rate-limit-use", tag = "Integrations", params(LimitUseParams),
    responses((status = 200, body = Page<LimitOverTime>)))]
async fn list_limit_use(
    can: Can<Read>,
    Id(id): Id<IntegrationId>,
    Query(params): Query<LimitUseParams>,
) -> JsonResult<Page<LimitOverTime>> {
    Ok(Answer(can.headgate.limit_use(&can, id, params.window).await?))
}

/// Lists every limit of every integration, on one page.
#[utoipa::path(get, path = "/rate-limits", tag = "Deployment", responses((status = 200, body = Page<RateLimitStatus>),
    (status = 422, description = "A query parameter is not known, or cannot be read.")))]
async fn list_rate_limits(
    can: Can<ReadDeployment>,
    _: ListQuery<NoFilter>,
) -> JsonResult<Page<RateLimitStatus>> {
    Ok(Answer(can.headgate.rate_limits(&can).await?))
}
