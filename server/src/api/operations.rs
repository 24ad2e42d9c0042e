//! `/operations`: bulk operations, and deletions of apps and integrations, that run in the background.

use super::extract::{Can, Id, ListQuery, NoFilter, PageParams, Read, SteerJobs};
use super::problem::JsonResult;
use crate::state::AppState;
use axum::Json as Answer;
use model::id::OperationId;
use model::operation::{Operation, OperationStep};
use model::page::Page;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_operations))
        .routes(routes!(get_operation))
        .routes(routes!(pause_operation))
        .routes(routes!(resume_operation))
        .routes(routes!(abort_operation))
        .routes(routes!(undo_operation))
}

/// Lists bulk actions, and deletions of apps and integrations, newest first.
///
/// Payload values in their filters read `[masked]` where they do in payloads, unless the key's role is operator.
#[utoipa::path(get, path = "/operations", tag = "Operations", params(PageParams),
    responses((status = 200, body = Page<Operation>)))]
async fn list_operations(can: Can<Read>, query: ListQuery<NoFilter>) -> JsonResult<Page<Operation>> {
    Ok(Answer(can.headgate.operations(&can, query.page).await?))
}

/// Returns an operation and its progress. A deletion cannot be paused, aborted or undone (409).
#[utoipa::path(get, path = "/operations/{id}", tag = "Operations", responses((status = 200, body = Operation)))]
async fn get_operation(can: Can<Read>, Id(id): Id<OperationId>) -> JsonResult<Operation> {
    Ok(Answer(can.headgate.operation(&can, id).await?))
}

/// Pauses an operation until it is resumed.
#[utoipa::path(post, path = "/operations/{id}/pause", tag = "Operations", responses((status = 200, body = Operation)))]
async fn pause_operation(can: Can<SteerJobs>, Id(id): Id<OperationId>) -> JsonResult<Operation> {
    Ok(Answer(can.headgate.steer_operation(&can, id, OperationStep::Pause).await?))
}

/// Resumes an operation, or ends its hold.
#[utoipa::path(post, path = "/operations/{id}/resume", tag = "Operations", responses((status = 200, body = Operation)))]
async fn resume_operation(can: Can<SteerJobs>, Id(id): Id<OperationId>) -> JsonResult<Operation> {
    Ok(Answer(can.headgate.steer_operation(&can, id, OperationStep::Resume).await?))
}

/// Stops an operation for good; what it has done is kept.
#[utoipa::path(post, path = "/operations/{id}/abort", tag = "Operations", responses((status = 200, body = Operation)))]
async fn abort_operation(can: Can<SteerJobs>, Id(id): Id<OperationId>) -> JsonResult<Operation> {
    Ok(Answer(can.headgate.steer_operation(&can, id, OperationStep::Abort).await?))
}

/// Stops an operation for good if it still runs, and undoes what it changed, in an operation of its own (`undone_by`).
///
/// Possible for 24 hours; 409 when nothing is left to undo. Requeued jobs return to where they were unless they were tried since or contain a newer
/// change; cancelled ones return with their attempts and their wait; purged dead letters are restored from the bin. The others are counted as
/// skipped, with reasons.
#[utoipa::path(post, path = "/operations/{id}/undo", tag = "Operations", responses((status = 200, body = Operation)))]
async fn undo_operation(can: Can<SteerJobs>, Id(id): Id<OperationId>) -> JsonResult<Operation> {
    Ok(Answer(can.headgate.steer_operation(&can, id, OperationStep::Undo).await?))
}
