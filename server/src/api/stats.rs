//! `/stats`: gauges read at the call, and rollups. The stream of them is `/live`.

use super::{
    extract::{Can, NoFilter, Query, Read},
    live::narrowed,
    problem::Problem,
};
use crate::state::AppState;
use axum::{Json as Answer, extract::State};
use model::{
    id::IntegrationId,
    page::Page,
    stats::{IntegrationGauge, Snapshot, Throughput, Window},
};
use queue::store::stats;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(get_overview))
        .routes(routes!(list_gauges))
        .routes(routes!(get_throughput))
}

/// Which chart.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct ThroughputParams {
    /// `1h` (default) in steps of a minute, `24h` of 15 minutes, `7d` of 2 hours.
    #[param(inline)]
    window: Window,
    /// Of one integration.
    integration_id: Option<IntegrationId>,
}

/// The whole deployment at this moment; for a key that is bound to an app, that app.
#[utoipa::path(get, path = "/stats/overview", tag = "Statistics", responses((status = 200, body = Snapshot)))]
async fn get_overview(
    actor: Can<Read>,
    State(state): State<AppState>,
    _: Query<NoFilter>,
) -> Result<Answer<Snapshot>, Problem> {
    let mut snapshot = stats::snapshot(&state.pool).await?;
    // What is wrong with the deployment is measured by the sampler alone.
    if let Some(sampled) = &state.live.current().snapshot {
        snapshot.warnings.clone_from(&sampled.warnings);
    }
    Ok(Answer(narrowed(snapshot, actor.scope(), None)))
}

/// Every integration at this moment, on one page.
#[utoipa::path(get, path = "/stats/integrations", tag = "Statistics", responses((status = 200, body = Page<IntegrationGauge>)))]
async fn list_gauges(
    actor: Can<Read>,
    State(state): State<AppState>,
    _: Query<NoFilter>,
) -> Result<Answer<Page<IntegrationGauge>>, Problem> {
    let snapshot = narrowed(stats::snapshot(&state.pool).await?, actor.scope(), None);
    Ok(Answer(Page { items: snapshot.integrations, next_cursor: None }))
}

/// What was done over time.
#[utoipa::path(get, path = "/stats/throughput", tag = "Statistics", params(ThroughputParams),
    responses((status = 200, body = Throughput)))]
async fn get_throughput(
    actor: Can<Read>,
    State(state): State<AppState>,
    Query(params): Query<ThroughputParams>,
) -> Result<Answer<Throughput>, Problem> {
    let pool = &state.console_pool;
    Ok(Answer(stats::throughput(pool, actor.scope(), params.integration_id, params.window).await?))
}
