//! `/users`

use super::{
    extract::{Can, Id, IfMatch, Json, ListQuery, ManageAccess, NoFilter, PageParams, ReadDeployment},
    problem::Problem,
    tagged::Tagged,
};
use crate::state::AppState;
use axum::{Json as Answer, extract::State, http::StatusCode};
use model::{
    id::UserId,
    page::Page,
    user::{NewUser, User, UserChanges},
};
use service::Headgate;
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
    actor: Can<ReadDeployment>,
    State(headgate): State<Headgate>,
    query: ListQuery<NoFilter>,
) -> Result<Answer<Page<User>>, Problem> {
    Ok(Answer(headgate.users(&actor, query.page).await?))
}

/// Creates a user.
#[utoipa::path(post, path = "/users", tag = "Access", request_body = NewUser, responses((status = 201, body = User)))]
async fn create_user(
    actor: Can<ManageAccess>,
    State(headgate): State<Headgate>,
    Json(new): Json<NewUser>,
) -> Result<(StatusCode, Tagged<User>), Problem> {
    Ok((StatusCode::CREATED, Tagged(headgate.create_user(&actor, new).await?)))
}

/// Returns a user.
#[utoipa::path(get, path = "/users/{id}", tag = "Access", responses((status = 200, body = User)))]
async fn get_user(
    actor: Can<ReadDeployment>,
    State(headgate): State<Headgate>,
    Id(id): Id<UserId>,
) -> Result<Tagged<User>, Problem> {
    Ok(Tagged(headgate.user(&actor, id).await?))
}

/// Changes a user. A new role or password, or disabling, ends the user's sessions. The last operator must remain one (409).
#[utoipa::path(patch, path = "/users/{id}", tag = "Access", request_body = UserChanges,
    responses((status = 200, body = User)))]
async fn update_user(
    actor: Can<ManageAccess>,
    State(headgate): State<Headgate>,
    Id(id): Id<UserId>,
    IfMatch(if_match): IfMatch,
    Json(changes): Json<UserChanges>,
) -> Result<Tagged<User>, Problem> {
    let changes = UserChanges { if_match, ..changes };
    Ok(Tagged(headgate.update_user(&actor, id, changes).await?))
}

/// Deletes a user with all sessions; the audit log keeps what the user did. The last operator cannot be deleted (409).
#[utoipa::path(delete, path = "/users/{id}", tag = "Access", responses((status = 204)))]
async fn delete_user(
    actor: Can<ManageAccess>,
    State(headgate): State<Headgate>,
    Id(id): Id<UserId>,
    IfMatch(if_match): IfMatch,
) -> Result<StatusCode, Problem> {
    headgate.delete_user(&actor, id, &if_match).await?;
    Ok(StatusCode::NO_CONTENT)
}
