//! `/api-keys`

use super::extract::{Can, Id, Json, ListQuery, ManageAccess, NoFilter, PageParams, ReadDeployment};
use super::problem::{JsonResult, Problem};
use crate::state::AppState;
use axum::{Json as Answer, http::StatusCode};
use model::api_key::{ApiKey, ApiKeyWithSecret, NewApiKey};
use model::id::ApiKeyId;
use model::page::Page;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_api_keys, create_api_key)).routes(routes!(revoke_api_key))
}

/// Lists API keys, newest first, including revoked and expired ones.
#[utoipa::path(get, path = "/api-keys", tag = "Access", params(PageParams), responses((status = 200, body = Page<ApiKey>)))]
async fn list_api_keys(can: Can<ReadDeployment>, query: ListQuery<NoFilter>) -> JsonResult<Page<ApiKey>> {
    Ok(Answer(can.headgate.api_keys(&can, query.page).await?))
}

/// Creates an API key. Only this answer shows it.
///
/// The role `worker` is reserved for workers that run outside of Headgate: a key of it may call nothing yet (403).
#[utoipa::path(post, path = "/api-keys", tag = "Access", request_body = NewApiKey,
    responses((status = 201, body = ApiKeyWithSecret)))]
async fn create_api_key(
    can: Can<ManageAccess>,
    Json(new): Json<NewApiKey>,
) -> Result<(StatusCode, Answer<ApiKeyWithSecret>), Problem> {
    Ok((StatusCode::CREATED, Answer(can.headgate.create_api_key(&can, &new).await?)))
}

/// Revokes an API key: it is refused from the next request on. Revoking it again changes nothing (204).
#[utoipa::path(delete, path = "/api-keys/{id}", tag = "Access", responses((status = 204)))]
async fn revoke_api_key(can: Can<ManageAccess>, Id(id): Id<ApiKeyId>) -> Result<StatusCode, Problem> {
    can.headgate.revoke_api_key(&can, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
