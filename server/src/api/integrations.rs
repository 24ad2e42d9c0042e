//! `/integrations`: create, read, change, delete. Actions on one are in `integration_control`.

use super::{
    apps::{DeleteParams, deleted},
    extract::{Can, Configure, Id, IfMatch, Json, ListQuery, PageParams, Query, Read},
    problem::Problem,
    tagged::Tagged,
};
use crate::state::AppState;
use axum::{Json as Answer, extract::State, http::StatusCode, response::Response};
use model::{
    id::IntegrationId,
    integration::{Integration, IntegrationWithSecret},
    integration_query::IntegrationFilter,
    integration_settings::{IntegrationChanges, NewIntegration},
    operation::DeletionStarted,
    page::Page,
    record::{SentFilter, SentRecord},
    record_page::RecordPageRequest,
    sync_status::SyncStatus,
};
use service::Headgate;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_integrations, create_integration))
        .routes(routes!(get_integration, update_integration, delete_integration))
        .routes(routes!(get_status))
        .routes(routes!(list_sent))
}

/// Lists integrations, newest first.
#[utoipa::path(get, path = "/integrations", tag = "Integrations", params(IntegrationFilter, PageParams),
    responses((status = 200, body = Page<Integration>)))]
async fn list_integrations(
    actor: Can<Read>,
    State(headgate): State<Headgate>,
    query: ListQuery<IntegrationFilter>,
) -> Result<Answer<Page<Integration>>, Problem> {
    Ok(Answer(headgate.integrations(&actor, query.filter, query.page).await?))
}

/// Creates an integration. Only this answer shows its signing secret. Nothing is sent until records change or a re-sync is started.
///
/// Integrations of an app with the same `rate_limit_key` share one limit: later ones leave `rate_limit` out or give the same; a different one is
/// 422 at `/rate_limit`.
#[utoipa::path(post, path = "/integrations", tag = "Integrations", request_body = NewIntegration,
    responses((status = 201, body = IntegrationWithSecret)))]
async fn create_integration(
    actor: Can<Configure>,
    State(headgate): State<Headgate>,
    Json(new): Json<NewIntegration>,
) -> Result<(StatusCode, Tagged<IntegrationWithSecret>), Problem> {
    let made = headgate.create_integration(&actor, &new).await?;
    Ok((StatusCode::CREATED, Tagged(made)))
}

/// Returns an integration.
#[utoipa::path(get, path = "/integrations/{id}", tag = "Integrations", responses((status = 200, body = Integration)))]
async fn get_integration(
    actor: Can<Read>,
    State(headgate): State<Headgate>,
    Id(id): Id<IntegrationId>,
) -> Result<Tagged<Integration>, Problem> {
    Ok(Tagged(headgate.integration(&actor, id).await?))
}

/// Changes an integration. Fields that are absent stay as they are.
///
/// Null resets a field to what a new integration without it has (`max_concurrency` 50; `timeout_ms`, `max_attempts` and `retry_schedule` the
/// deployment's defaults; no limit, all record types, no headers). `name`, `endpoint_url` and `state` cannot be null (422).
///
/// With a `rate_limit_key`, a new `rate_limit` applies to all integrations of the app that share the key. A new key without a `rate_limit` takes
/// the limit the key has.
#[utoipa::path(patch, path = "/integrations/{id}", tag = "Integrations", request_body = IntegrationChanges,
    responses((status = 200, body = Integration)))]
async fn update_integration(
    actor: Can<Configure>,
    State(headgate): State<Headgate>,
    Id(id): Id<IntegrationId>,
    IfMatch(if_match): IfMatch,
    Json(changes): Json<IntegrationChanges>,
) -> Result<Tagged<Integration>, Problem> {
    let changes = IntegrationChanges { if_match, ..changes };
    Ok(Tagged(headgate.update_integration(&actor, id, &changes).await?))
}

/// Deletes an integration and its sent state.
///
/// Live jobs prevent it (409) unless `cancel_jobs` is set. Once this has answered, nothing of the integration is accepted, sent or shown; what
/// cannot be deleted at once is deleted in the background.
#[utoipa::path(delete, path = "/integrations/{id}", tag = "Integrations", params(DeleteParams),
    responses((status = 204, description = "Deleted."),
        (status = 202, body = DeletionStarted, description = "The rest of it is deleted in the background."),
        (status = 409, description = "It has live jobs (`live-jobs`), or is the built-in integration, which cannot be deleted (`built-in`).")))]
async fn delete_integration(
    actor: Can<Configure>,
    State(headgate): State<Headgate>,
    Id(id): Id<IntegrationId>,
    Query(params): Query<DeleteParams>,
    if_match: IfMatch,
) -> Result<Response, Problem> {
    Ok(deleted(headgate.delete_integration(&actor, id, &params.with_if_match(if_match)).await?))
}

/// Returns how an integration is doing, as its app may see it. Counts are read at the time of the call.
#[utoipa::path(get, path = "/integrations/{id}/status", tag = "Integrations", responses((status = 200, body = SyncStatus)))]
async fn get_status(
    actor: Can<Read>,
    State(headgate): State<Headgate>,
    Id(id): Id<IntegrationId>,
) -> Result<Answer<SyncStatus>, Problem> {
    Ok(Answer(headgate.status(&actor, id).await?))
}

/// Lists the data last sent, per record, ordered by type and id. Secrets in it read `[masked]` unless the key's role is operator.
#[utoipa::path(get, path = "/integrations/{id}/sent", tag = "Integrations", params(SentFilter, PageParams),
    responses((status = 200, body = Page<SentRecord>)))]
async fn list_sent(
    actor: Can<Read>,
    State(headgate): State<Headgate>,
    Id(id): Id<IntegrationId>,
    query: ListQuery<SentFilter, RecordPageRequest>,
) -> Result<Answer<Page<SentRecord>>, Problem> {
    Ok(Answer(headgate.sent_records(&actor, id, &query.filter, query.page).await?))
}
