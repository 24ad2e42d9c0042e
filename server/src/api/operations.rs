//! `/operations`: what goes on in the background: bulk actions, deletions of apps and integrations.

use super::{
    extract::{Can, Id, ListQuery, NoFilter, PageParams, Read, SteerJobs},
    masked::shown,
    problem::Problem,
};
use crate::state::AppState;
use axum::{Json as Answer, extract::State};
use insight::store::operations;
use model::{
    id::OperationId,
    operation::{Operation, OperationStep},
    page::Page,
};
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

/// Bulk actions, and deletions of apps and integrations, newest first.
#[utoipa::path(get, path = "/operations", tag = "Operations", params(PageParams),
    responses((status = 200, body = Page<Operation>)))]
async fn list_operations(
    actor: Can<Read>,
    State(state): State<AppState>,
    query: ListQuery<NoFilter>,
) -> Result<Answer<Page<Operation>>, Problem> {
    let page = operations::list(&state.console_pool, actor.scope(), query.page).await?;
    Ok(Answer(shown(&state, &actor, page).await?))
}

/// One of them and how far it is. Nothing stops or takes back a deletion: its steps answer 409.
#[utoipa::path(get, path = "/operations/{id}", tag = "Operations", responses((status = 200, body = Operation)))]
async fn get_operation(
    actor: Can<Read>,
    State(state): State<AppState>,
    Id(id): Id<OperationId>,
) -> Result<Answer<Operation>, Problem> {
    Ok(Answer(shown(&state, &actor, operations::get(&state.pool, actor.scope(), id).await?).await?))
}

/// Stops it until it is resumed.
#[utoipa::path(post, path = "/operations/{id}/pause", tag = "Operations", responses((status = 200, body = Operation)))]
async fn pause_operation(
    actor: Can<SteerJobs>,
    State(state): State<AppState>,
    Id(id): Id<OperationId>,
) -> Result<Answer<Operation>, Problem> {
    Ok(Answer(state.steering().steer_operation(&actor, id, OperationStep::Pause).await?))
}

/// Lets it go on, or ends its hold.
#[utoipa::path(post, path = "/operations/{id}/resume", tag = "Operations", responses((status = 200, body = Operation)))]
async fn resume_operation(
    actor: Can<SteerJobs>,
    State(state): State<AppState>,
    Id(id): Id<OperationId>,
) -> Result<Answer<Operation>, Problem> {
    Ok(Answer(state.steering().steer_operation(&actor, id, OperationStep::Resume).await?))
}

/// Stops it for good; what is done stays done.
#[utoipa::path(post, path = "/operations/{id}/abort", tag = "Operations", responses((status = 200, body = Operation)))]
async fn abort_operation(
    actor: Can<SteerJobs>,
    State(state): State<AppState>,
    Id(id): Id<OperationId>,
) -> Result<Answer<Operation>, Problem> {
    Ok(Answer(state.steering().steer_operation(&actor, id, OperationStep::Abort).await?))
}

/// Stops it for good, if it goes on, and takes back what it changed: an operation of its own (`undone_by`). For 24 hours; 409 when nothing is
/// left to take back. Requeued jobs go back to where they were if nobody tried them since and no newer change is in them; cancelled ones come
/// back with their attempts and their wait; purged dead letters come out of the bin. The others are counted as skipped, with reasons.
#[utoipa::path(post, path = "/operations/{id}/undo", tag = "Operations", responses((status = 200, body = Operation)))]
async fn undo_operation(
    actor: Can<SteerJobs>,
    State(state): State<AppState>,
    Id(id): Id<OperationId>,
) -> Result<Answer<Operation>, Problem> {
    Ok(Answer(state.steering().steer_operation(&actor, id, OperationStep::Undo).await?))
}
