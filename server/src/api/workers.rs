//! `/workers`

use super::{
    audited,
    extract::{Can, Configure, Id, ListQuery, NoFilter, ReadDeployment},
    problem::Problem,
};
use crate::state::AppState;
use access::audit::Entry;
use axum::{Json as Answer, extract::State};
use model::{id::WorkerId, page::Page, worker::Worker};
use queue::store::workers;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_workers)).routes(routes!(drain_worker))
}

/// Processes that live, on one page.
#[utoipa::path(get, path = "/workers", tag = "Deployment", responses((status = 200, body = Page<Worker>)))]
async fn list_workers(
    _: Can<ReadDeployment>,
    State(state): State<AppState>,
    _: ListQuery<NoFilter>,
) -> Result<Answer<Page<Worker>>, Problem> {
    Ok(Answer(Page { items: workers::list(&state.console_pool).await?, next_cursor: None }))
}

/// Makes a process claim nothing more; what it runs comes to its end.
#[utoipa::path(post, path = "/workers/{id}/drain", tag = "Deployment", responses((status = 200, body = Worker)))]
async fn drain_worker(
    actor: Can<Configure>,
    State(state): State<AppState>,
    Id(id): Id<WorkerId>,
) -> Result<Answer<Worker>, Problem> {
    let worker = audited::change(&state, &actor, async |mut tx| {
        let worker = workers::drain(&mut tx, id).await?;
        Ok((tx, worker, Entry::new("worker.drain").about(id)))
    })
    .await?;
    Ok(Answer(worker))
}
