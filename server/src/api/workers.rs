//! `/workers`

use super::extract::{Can, Configure, Id, ListQuery, NoFilter, ReadDeployment};
use super::problem::JsonResult;
use crate::state::AppState;
use axum::Json as Answer;
use model::{id::WorkerId, page::Page, worker::Worker};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_workers)).routes(routes!(drain_worker))
}

/// Lists the processes that claim jobs, the latest start first, on one page.
///
/// These are the ones whose lease is valid, and those that lost it in the last ten minutes (`lease` is `lost`).
#[utoipa::path(get, path = "/workers", tag = "Deployment", responses((status = 200, body = Page<Worker>),
    (status = 422, description = "A query parameter is not known, or cannot be read.")))]
async fn list_workers(can: Can<ReadDeployment>, _: ListQuery<NoFilter>) -> JsonResult<Page<Worker>> {
    Ok(Answer(Page { items: can.headgate.workers(&can).await?, next_cursor: None }))
}

/// Drains a worker: it claims nothing more and finishes what it runs, until it is restarted. 404 when it no longer runs.
#[utoipa::path(post, path = "/workers/{id}/drain", tag = "Deployment", responses((status = 200, body = Worker)))]
async fn drain_worker(can: Can<Configure>, Id(id): Id<WorkerId>) -> JsonResult<Worker> {
    Ok(Answer(can.headgate.drain_worker(&can, id).await?))
}
