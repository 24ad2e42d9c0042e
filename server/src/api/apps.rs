//! `/apps`

use super::extract::{Can, Configure, Id, IfMatch, Json, ListQuery, NoFilter, PageParams, Query, Read};
use super::problem::{JsonResult, Problem};
use super::tagged::Tagged;
use crate::state::AppState;
use axum::Json as Answer;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use model::app::{App, AppChanges, NewApp};
use model::deletion::DeleteOptions;
use model::id::{AppId, OperationId};
use model::operation::DeletionStarted;
use model::page::Page;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_apps, create_app))
        .routes(routes!(get_app, update_app, delete_app))
}

#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct DeleteParams {
    /// `true`: live jobs are cancelled; otherwise they prevent the deletion (409).
    cancel_jobs: bool,
}

impl DeleteParams {
    pub(super) fn with_if_match(self, IfMatch(if_match): IfMatch) -> DeleteOptions {
        DeleteOptions { cancel_jobs: self.cancel_jobs, if_match }
    }
}

/// Lists apps, newest first. A key that is bound to an app sees only that app.
#[utoipa::path(get, path = "/apps", tag = "Apps", params(PageParams), responses((status = 200, body = Page<App>)))]
async fn list_apps(can: Can<Read>, query: ListQuery<NoFilter>) -> JsonResult<Page<App>> {
    Ok(Answer(can.headgate.apps(&can, query.page).await?))
}

/// Creates an app, together with its built-in integration `workers`.
#[utoipa::path(post, path = "/apps", tag = "Apps", request_body = NewApp, responses((status = 201, body = App)))]
async fn create_app(
    can: Can<Configure>,
    Json(new): Json<NewApp>,
) -> Result<(StatusCode, Tagged<App>), Problem> {
    let app = can.headgate.create_app(&can, &new).await?;
    Ok((StatusCode::CREATED, Tagged(app)))
}

/// Returns an app.
#[utoipa::path(get, path = "/apps/{id}", tag = "Apps", responses((status = 200, body = App)))]
async fn get_app(can: Can<Read>, Id(id): Id<AppId>) -> Result<Tagged<App>, Problem> {
    Ok(Tagged(can.headgate.app(&can, id).await?))
}

/// Changes an app.
#[utoipa::path(patch, path = "/apps/{id}", tag = "Apps", request_body = AppChanges,
    responses((status = 200, body = App), (status = 409, description = "Another app has this slug (`slug-taken`).")))]
async fn update_app(
    can: Can<Configure>,
    Id(id): Id<AppId>,
    IfMatch(if_match): IfMatch,
    Json(changes): Json<AppChanges>,
) -> Result<Tagged<App>, Problem> {
    let changes = AppChanges { if_match, ..changes };
    Ok(Tagged(can.headgate.update_app(&can, id, &changes).await?))
}

/// The answer to a deletion; `operation` is the one that deletes the rest in the background.
pub(super) fn deleted(operation: Option<OperationId>) -> Response {
    match operation {
        None => StatusCode::NO_CONTENT.into_response(),
        Some(operation_id) => {
            (StatusCode::ACCEPTED, Answer(DeletionStarted { operation_id })).into_response()
        }
    }
}

/// Deletes an app with its integrations and its catalog.
///
/// Live jobs prevent it (409) unless `cancel_jobs` is set. Once this has answered, nothing of the app is accepted, sent or shown; what cannot be
/// deleted at once is deleted in the background.
#[utoipa::path(delete, path = "/apps/{id}", tag = "Apps", params(DeleteParams), responses(
        (status = 204, description = "Deleted."),
        (status = 202, body = DeletionStarted, description = "The rest of it is deleted in the background."),
        (status = 409, description = "It has live jobs (`live-jobs`).")))]
async fn delete_app(
    can: Can<Configure>,
    Id(id): Id<AppId>,
    Query(params): Query<DeleteParams>,
    if_match: IfMatch,
) -> Result<Response, Problem> {
    Ok(deleted(can.headgate.delete_app(&can, id, &params.with_if_match(if_match)).await?))
}
