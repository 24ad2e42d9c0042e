//! `/saved-views`: what people keep of the list of jobs, and when it alerts.

use super::{
    extract::{Can, Id, IfMatch, Json, ListQuery, NoFilter, OpenConsole, SaveViews},
    problem::Problem,
    tagged::Tagged,
};
use crate::state::AppState;
use app::{server::saved_views::shown, state::saved_query::SavedQuery};
use axum::{Json as Answer, extract::State, http::StatusCode};
use chrono::Utc;
use insight::store::saved_views;
use model::{
    id::SavedViewId,
    page::Page,
    saved_view::{NewSavedView, SavedView, SavedViewChanges},
};
use queue::QueueError;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_saved_views, create_saved_view)).routes(routes!(
        get_saved_view,
        update_saved_view,
        delete_saved_view
    ))
}

/// Saved views of the list of jobs, on one page, pinned ones first: shared ones, and of a signed-in person their own. Those that somebody pinned or
/// that have a threshold are counted every few seconds, once for all (`count`, with its time); `alerting_since` tells that the threshold is reached.
/// A view that asks for a value which is masked by now shows neither to whom it is masked.
#[utoipa::path(get, path = "/saved-views", tag = "Jobs", responses((status = 200, body = Page<SavedView>)))]
async fn list_saved_views(
    actor: Can<OpenConsole>,
    State(state): State<AppState>,
    _: ListQuery<NoFilter>,
) -> Result<Answer<Page<SavedView>>, Problem> {
    let items = saved_views::list(&state.console_pool, actor.user_id()).await?;
    let items = shown(&state.delivery, &actor, items).await?;
    Ok(Answer(Page { items, next_cursor: None }))
}

/// Saves a view: up to 50 a person, 200 shared ones, 12 pinned by one person. Of a key it is shared, and belongs to nobody: operators change it.
/// No view asks for a value of the payload that is masked, whoever saves it: others read its filters and its count.
#[utoipa::path(post, path = "/saved-views", tag = "Jobs", request_body = NewSavedView,
    responses((status = 201, body = SavedView)))]
async fn create_saved_view(
    actor: Can<SaveViews>,
    State(state): State<AppState>,
    Json(mut new): Json<NewSavedView>,
) -> Result<(StatusCode, Tagged<SavedView>), Problem> {
    let query = SavedQuery::parse(&new.query, Utc::now()).map_err(QueueError::from)?;
    new.query = query.text;
    Ok((StatusCode::CREATED, Tagged(state.steering().save_view(&actor, &new, &query.filter).await?)))
}

/// One view that the reader sees.
#[utoipa::path(get, path = "/saved-views/{id}", tag = "Jobs", responses((status = 200, body = SavedView)))]
async fn get_saved_view(
    actor: Can<OpenConsole>,
    State(state): State<AppState>,
    Id(id): Id<SavedViewId>,
) -> Result<Tagged<SavedView>, Problem> {
    let mut conn = state.pool.acquire().await?;
    let view = saved_views::get(&mut conn, actor.user_id(), id).await?;
    let view = shown(&state.delivery, &actor, vec![view]).await?.pop();
    view.map(Tagged).ok_or_else(Problem::not_found)
}

/// Changes a view: its owner's, and operators' where it is shared. `is_pinned` is of whoever asks.
#[utoipa::path(patch, path = "/saved-views/{id}", tag = "Jobs", request_body = SavedViewChanges,
    responses((status = 200, body = SavedView)))]
async fn update_saved_view(
    actor: Can<SaveViews>,
    State(state): State<AppState>,
    Id(id): Id<SavedViewId>,
    IfMatch(if_match): IfMatch,
    Json(mut changes): Json<SavedViewChanges>,
) -> Result<Tagged<SavedView>, Problem> {
    changes.if_match = if_match;
    let query = changes.query.as_deref().map(|query| SavedQuery::parse(query, Utc::now()));
    let query = query.transpose().map_err(QueueError::from)?;
    let filter = query.map(|query| {
        changes.query = Some(query.text);
        query.filter
    });
    let view = state.steering().change_view(&actor, id, &changes, filter.as_ref()).await?;
    let view = shown(&state.delivery, &actor, vec![view]).await?.pop();
    view.map(Tagged).ok_or_else(Problem::not_found)
}

/// Deletes a view for everybody who saw it.
#[utoipa::path(delete, path = "/saved-views/{id}", tag = "Jobs", responses((status = 204)))]
async fn delete_saved_view(
    actor: Can<SaveViews>,
    State(state): State<AppState>,
    Id(id): Id<SavedViewId>,
    IfMatch(if_match): IfMatch,
) -> Result<StatusCode, Problem> {
    state.steering().delete_view(&actor, id, &if_match).await?;
    Ok(StatusCode::NO_CONTENT)
}
