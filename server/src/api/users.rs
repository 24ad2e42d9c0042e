//! `/users`

use super::{
    extract::{Can, Id, IfMatch, Json, ListQuery, ManageAccess, NoFilter, PageParams, ReadDeployment},
    problem::Problem,
    tagged::Tagged,
};
use crate::state::AppState;
use access::users;
use axum::{Json as Answer, extract::State, http::StatusCode};
use model::{
    id::UserId,
    page::Page,
    user::{NewUser, User, UserChanges},
};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_users, create_user)).routes(routes!(
        get_user,
        update_user,
        delete_user
    ))
}

/// Lists users, the people who sign in, newest first.
#[utoipa::path(get, path = "/users", tag = "Access", params(PageParams), responses((status = 200, body = Page<User>)))]
async fn list_users(
    _: Can<ReadDeployment>,
    State(state): State<AppState>,
    query: ListQuery<NoFilter>,
) -> Result<Answer<Page<User>>, Problem> {
    Ok(Answer(users::list(&state.access_lists(), query.page).await?))
}

/// Creates a user.
#[utoipa::path(post, path = "/users", tag = "Access", request_body = NewUser, responses((status = 201, body = User)))]
async fn create_user(
    actor: Can<ManageAccess>,
    State(state): State<AppState>,
    Json(new): Json<NewUser>,
) -> Result<(StatusCode, Tagged<User>), Problem> {
    Ok((StatusCode::CREATED, Tagged(users::create(&state.access, &actor, new).await?)))
}

/// Returns a user.
#[utoipa::path(get, path = "/users/{id}", tag = "Access", responses((status = 200, body = User)))]
async fn get_user(
    _: Can<ReadDeployment>,
    State(state): State<AppState>,
    Id(id): Id<UserId>,
) -> Result<Tagged<User>, Problem> {
    Ok(Tagged(users::get(&state.access, id).await?))
}

/// Changes a user. A new role or password, or disabling, ends the user's sessions. The last operator must remain one (409).
#[utoipa::path(patch, path = "/users/{id}", tag = "Access", request_body = UserChanges,
    responses((status = 200, body = User)))]
async fn update_user(
    actor: Can<ManageAccess>,
    State(state): State<AppState>,
    Id(id): Id<UserId>,
    IfMatch(if_match): IfMatch,
    Json(changes): Json<UserChanges>,
) -> Result<Tagged<User>, Problem> {
    let changes = UserChanges { if_match, ..changes };
    Ok(Tagged(users::update(&state.access, &actor, id, changes).await?))
}

/// Deletes a user with all sessions; the audit log keeps what the user did. The last operator cannot be deleted (409).
#[utoipa::path(delete, path = "/users/{id}", tag = "Access", responses((status = 204)))]
async fn delete_user(
    actor: Can<ManageAccess>,
    State(state): State<AppState>,
    Id(id): Id<UserId>,
    IfMatch(if_match): IfMatch,
) -> Result<StatusCode, Problem> {
    users::delete(&state.access, &actor, id, &if_match).await?;
    Ok(StatusCode::NO_CONTENT)
}
