//! `/integrations`: create, read, change, delete. Actions on one are in `integration_control`.

use super::apps::{DeleteParams, deleted};
use super::extract::{Can, Configure, Id, IfMatch, Json, ListQuery, PageParams, Query, Read};
use super::problem::{JsonResult, Problem};
use super::tagged::Tagged;
use crate::state::AppState;
use axum::{Json as Answer, http::StatusCode, response::Response};
use model::id::IntegrationId;
use model::integration::{Integration, IntegrationWithSecret};
use model::integration_query::IntegrationFilter;
use model::integration_settings::{IntegrationChanges, NewIntegration};
use model::operation::DeletionStarted;
use model::page::Page;
use model::record::{SentFilter, SentRecord};
use model::record_page::RecordPageRequest;
use model::sync_status::SyncStatus;
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
    can: Can<Read>,
    query: ListQuery<IntegrationFilter>,
) -> JsonResult<Page<Integration>> {
    Ok(Answer(can.headgate.integrations(&can, query.filter, query.page).await?))
}

/// Creates an integration. Only this answer shows its signing secret. Nothing is sent until records change or a re-sync is started.
///
/// Integrations of an app with the same `rate_limit_key` share one limit: later ones leave `rate_limit` out or give the same; a different one is
/// 422 at `/rate_limit`.
#[utoipa::path(post, path = "/integrations", tag = "Integrations", request_body = NewIntegration,
    responses((status = 201, body = IntegrationWithSecret)))]
async fn create_integration(
    can: Can<Configure>,
    Json(new): Json<NewIntegration>,
) -> Result<(StatusCode, Tagged<IntegrationWithSecret>), Problem> {
    let made = can.headgate.create_integration(&can, &new).await?;
    Ok((StatusCode::CREATED, Tagged(made)))
}

/// Returns an integration.
#[utoipa::path(get, path = "/integrations/{id}", tag = "Integrations", responses((status = 200, body = Integration)))]
async fn get_integration(can: Can<Read>, Id(id): Id<IntegrationId>) -> Result<Tagged<Integration>, Problem> {
    Ok(Tagged(can.headgate.integration(&can, id).await?))
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
    can: Can<Configure>,
    Id(id): Id<IntegrationId>,
    IfMatch(if_match): IfMatch,
    Json(changes): Json<IntegrationChanges>,
) -> Result<Tagged<Integration>, Problem> {
    let changes = IntegrationChanges { if_match, ..changes };
    Ok(Tagged(can.headgate.update_integration(&can, id, &changes).await?))
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
    can: Can<Configure>,
    Id(id): Id<IntegrationId>,
    Query(params): Query<DeleteParams>,
    if_match: IfMatch,
) -> Result<Response, Problem> {
    Ok(deleted(can.headgate.delete_integration(&can, id, &params.with_if_match(if_match)).await?))
}

/// Returns how an integration is doing, as its app may see it. Counts are read at the time of the call.
#[utoipa::path(get, path = "/integrations/{id}/status", tag = "Integrations", responses((status = 200, body = SyncStatus)))]
async fn get_status(can: Can<Read>, Id(id): Id<IntegrationId>) -> JsonResult<SyncStatus> {
    Ok(Answer(can.headgate.status(&can, id).await?))
}

/// Lists the data last sent, per record, ordered by type and id. Secrets in it read `[masked]` unless the key's role is operator.
#[utoipa::path(get, path = "/integrations/{id}/sent", tag = "Integrations", params(SentFilter, PageParams),
    responses((status = 200, body = Page<SentRecord>)))]
async fn list_sent(
    can: Can<Read>,
    Id(id): Id<IntegrationId>,
    query: ListQuery<SentFilter, RecordPageRequest>,
) -> JsonResult<Page<SentRecord>> {
    Ok(Answer(can.headgate.sent_records(&can, id, &query.filter, query.page).await?))
}
