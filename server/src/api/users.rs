//! `/users`

use super::extract::{Can, Id, IfMatch, Json, ListQuery, ManageAccess, NoFilter, PageParams, ReadDeployment};
use super::problem::{JsonResult, Problem};
use super::tagged::Tagged;
use crate::state::AppState;
use axum::{Json as Answer, http::StatusCode};
use model::id::UserId;
use model::page::Page;
use model::user::{NewUser, User, UserChanges};
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
async fn list_users(can: Can<ReadDeployment>, query: ListQuery<NoFilter>) -> JsonResult<Page<User>> {
    Ok(Answer(can.headgate.users(&can, query.page).await?))
}

/// Creates a user.
#[utoipa::path(post, path = "/users", tag = "Access", request_body = NewUser, responses((status = 201, body = User)))]
async fn create_user(
    can: Can<ManageAccess>,
    Json(new): Json<NewUser>,
) -> Result<(StatusCode, Tagged<User>), Problem> {
    Ok((StatusCode::CREATED, Tagged(can.headgate.create_user(&can, new).await?)))
}

/// Returns a user.
#[utoipa::path(get, path = "/users/{id}", tag = "Access", responses((status = 200, body = User)))]
async fn get_user(can: Can<ReadDeployment>, Id(id): Id<UserId>) -> Result<Tagged<User>, Problem> {
    Ok(Tagged(can.headgate.user(&can, id).await?))
}

/// Changes a user. A new role or password, or disabling, ends the user's sessions. The last operator must remain one (409).
#[utoipa::path(patch, path = "/users/{id}", tag = "Access", request_body = UserChanges,
    responses((status = 200, body = User), (status = 409, description = "It is the last operator (`last-operator`).")))]
async fn update_user(
    can: Can<ManageAccess>,
    Id(id): Id<UserId>,
    IfMatch(if_match): IfMatch,
    Json(changes): Json<UserChanges>,
) -> Result<Tagged<User>, Problem> {
    let changes = UserChanges { if_match, ..changes };
    Ok(Tagged(can.headgate.update_user(&can, id, changes).await?))
}

/// Deletes a user with all sessions; the audit log keeps what the user did. The last operator cannot be deleted (409).
#[utoipa::path(delete, path = "/users/{id}", tag = "Access",
    responses((status = 204), (status = 409, description = "It is the last operator (`last-operator`).")))]
async fn delete_user(
    can: Can<ManageAccess>,
    Id(id): Id<UserId>,
    IfMatch(if_match): IfMatch,
) -> Result<StatusCode, Problem> {
    can.headgate.delete_user(&can, id, &if_match).await?;
    Ok(StatusCode::NO_CONTENT)
}
