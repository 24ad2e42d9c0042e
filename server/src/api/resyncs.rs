//! `/resyncs`: progress, pause, resume, cancel. `POST /integrations/{id}/resync` starts one.

use super::extract::{Can, Id, ListQuery, PageParams, Read, Resync as Steer};
use super::problem::JsonResult;
use crate::state::AppState;
use axum::Json as Answer;
use model::id::{IntegrationId, ResyncId};
use model::page::Page;
use model::resync::{Resync, ResyncStep};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_resyncs))
        .routes(routes!(get_resync))
        .routes(routes!(pause_resync))
        .routes(routes!(resume_resync))
        .routes(routes!(cancel_resync))
}

#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct ResyncParams {
    /// Only re-syncs of this integration.
    integration_id: Option<IntegrationId>,
}

/// Lists re-syncs, newest first.
#[utoipa::path(get, path = "/resyncs", tag = "Re-syncs", params(ResyncParams, PageParams),
    responses((status = 200, body = Page<Resync>)))]
async fn list_resyncs(can: Can<Read>, query: ListQuery<ResyncParams>) -> JsonResult<Page<Resync>> {
    Ok(Answer(can.headgate.resyncs(&can, query.filter.integration_id, query.page).await?))
}

/// Returns a re-sync and its progress.
#[utoipa::path(get, path = "/resyncs/{id}", tag = "Re-syncs", responses((status = 200, body = Resync)))]
async fn get_resync(can: Can<Read>, Id(id): Id<ResyncId>) -> JsonResult<Resync> {
    Ok(Answer(can.headgate.resync(&can, id).await?))
}

/// Pauses a re-sync: it creates no further jobs until resumed, and its waiting jobs are parked.
///
/// No job of it begins once this has answered; requests in progress may finish. A record that changes in the meantime, or has a change waiting, is
/// still sent; requeuing a single parked job lets it run. A re-sync of which nothing is left becomes `completed`.
#[utoipa::path(post, path = "/resyncs/{id}/pause", tag = "Re-syncs", responses((status = 200, body = Resync)))]
async fn pause_resync(can: Can<Steer>, Id(id): Id<ResyncId>) -> JsonResult<Resync> {
    Ok(Answer(can.headgate.steer_resync(&can, id, ResyncStep::Pause).await?))
}

/// Resumes a re-sync where it stopped; its parked jobs wait again, in their order.
#[utoipa::path(post, path = "/resyncs/{id}/resume", tag = "Re-syncs", responses((status = 200, body = Resync)))]
async fn resume_resync(can: Can<Steer>, Id(id): Id<ResyncId>) -> JsonResult<Resync> {
    Ok(Answer(can.headgate.steer_resync(&can, id, ResyncStep::Resume).await?))
}

/// Cancels a re-sync and its waiting jobs: none of them begins once this has answered, and a request in progress that fails is not retried.
#[utoipa::path(post, path = "/resyncs/{id}/cancel", tag = "Re-syncs", responses((status = 200, body = Resync)))]
async fn cancel_resync(can: Can<Steer>, Id(id): Id<ResyncId>) -> JsonResult<Resync> {
    Ok(Answer(can.headgate.steer_resync(&can, id, ResyncStep::Cancel).await?))
}
