//! `/saved-views`: saved filters of the list of jobs, with optional alerts.

use super::extract::{Can, Id, IfMatch, Json, ListQuery, NoFilter, OpenConsole, SaveViews};
use super::problem::{JsonResult, Problem};
use super::tagged::Tagged;
use crate::state::AppState;
use axum::{Json as Answer, http::StatusCode};
use model::id::SavedViewId;
use model::page::Page;
use model::saved_view::{NewSavedView, SavedView, SavedViewChanges};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_saved_views, create_saved_view)).routes(routes!(
        get_saved_view,
        update_saved_view,
        delete_saved_view
    ))
}

/// Lists saved views of the list of jobs, on one page, pinned ones first: shared ones, and the signed-in user's own.
///
/// Views that somebody pinned or that have a threshold are counted every few seconds, once for all users (`count`, with its time);
/// `alerting_since` is set once the threshold is reached. If a view filters by a value that has since been masked, readers for whom it is masked
/// see `[masked]` instead of the payload values in its query, and neither its count nor whether it alerts.
#[utoipa::path(get, path = "/saved-views", tag = "Jobs", responses((status = 200, body = Page<SavedView>),
    (status = 422, description = "A query parameter is not known, or cannot be read.")))]
async fn list_saved_views(can: Can<OpenConsole>, _: ListQuery<NoFilter>) -> JsonResult<Page<SavedView>> {
    Ok(Answer(Page { items: can.headgate.saved_views(&can).await?, next_cursor: None }))
}

/// Saves a view.
///
/// At most 50 per user, 200 shared ones, and 12 pinned by one user. A view saved with an API key is shared and has no owner: operators change it.
/// No view may filter by a masked value of the payload, whoever saves it, because others read its filters and its count.
#[utoipa::path(post, path = "/saved-views", tag = "Jobs", request_body = NewSavedView,
    responses((status = 201, body = SavedView)))]
async fn create_saved_view(
    can: Can<SaveViews>,
    Json(new): Json<NewSavedView>,
) -> Result<(StatusCode, Tagged<SavedView>), Problem> {
    Ok((StatusCode::CREATED, Tagged(can.headgate.save_view(&can, new).await?)))
}

/// Returns a view that the actor may see.
#[utoipa::path(get, path = "/saved-views/{id}", tag = "Jobs", responses((status = 200, body = SavedView)))]
async fn get_saved_view(
    can: Can<OpenConsole>,
    Id(id): Id<SavedViewId>,
) -> Result<Tagged<SavedView>, Problem> {
    Ok(Tagged(can.headgate.saved_view(&can, id).await?))
}

/// Changes a view. Its owner may, and operators if it is shared. `is_pinned` applies to the actor only.
///
/// Who sees the query masked can give it another query, but no other threshold (422).
#[utoipa::path(patch, path = "/saved-views/{id}", tag = "Jobs", request_body = SavedViewChanges,
    responses((status = 200, body = SavedView)))]
async fn update_saved_view(
    can: Can<SaveViews>,
    Id(id): Id<SavedViewId>,
    IfMatch(if_match): IfMatch,
    Json(mut changes): Json<SavedViewChanges>,
) -> Result<Tagged<SavedView>, Problem> {
    changes.if_match = if_match;
    Ok(Tagged(can.headgate.change_view(&can, id, changes).await?))
}

/// Deletes a view for everybody who saw it.
#[utoipa::path(delete, path = "/saved-views/{id}", tag = "Jobs", responses((status = 204)))]
async fn delete_saved_view(
    can: Can<SaveViews>,
    Id(id): Id<SavedViewId>,
    IfMatch(if_match): IfMatch,
) -> Result<StatusCode, Problem> {
    can.headgate.delete_view(&can, id, &if_match).await?;
    Ok(StatusCode::NO_CONTENT)
}
