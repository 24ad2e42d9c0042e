//! `/integrations`: create, read, change, delete. Actions on one are in `integration_steering`.

use super::{
    apps::{DeleteParams, deleted},
    extract::{Can, Configure, Id, IfMatch, Json, ListQuery, PageParams, Query, Read},
    masked::shown,
    problem::Problem,
    tagged::Tagged,
};
use crate::state::AppState;
use axum::{Json as Answer, extract::State, http::StatusCode, response::Response};
use delivery::{IntegrationFilter, RecordPageRequest, SentFilter};
use model::{
    id::{AppId, IntegrationId},
    integration::{Integration, IntegrationChanges, IntegrationState, IntegrationWithSecret, NewIntegration},
    operation::DeletionStarted,
    page::Page,
    record::SentRecord,
    sync_status::SyncStatus,
};
use serde::Deserialize;
use service::read_in_parts;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_integrations, create_integration))
        .routes(routes!(get_integration, update_integration, delete_integration))
        .routes(routes!(get_status))
        .routes(routes!(list_sent))
}

#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct IntegrationParams {
    /// Only integrations of this app.
    app_id: Option<AppId>,
    /// Only integrations in this state.
    state: Option<IntegrationState>,
}

#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct SentParams {
    /// Only records of this type.
    record_type: Option<String>,
    /// Only records with this id.
    record_id: Option<String>,
}

/// Lists integrations, newest first.
#[utoipa::path(get, path = "/integrations", tag = "Integrations", params(IntegrationParams, PageParams),
    responses((status = 200, body = Page<Integration>)))]
async fn list_integrations(
    actor: Can<Read>,
    State(state): State<AppState>,
    query: ListQuery<IntegrationParams>,
) -> Result<Answer<Page<Integration>>, Problem> {
    let filter = IntegrationFilter { app_id: query.filter.app_id, state: query.filter.state };
    let page = state.lists().integrations(actor.scope(), filter, query.page).await?;
    Ok(Answer(shown(&state, &actor, page).await?))
}

/// Creates an integration. Only this answer shows its signing secret. Nothing is sent until records change or a re-sync is started.
///
/// Integrations of an app with the same `rate_limit_key` share one limit: later ones leave `rate_limit` out or give the same; a different one is
/// 422 at `/rate_limit`.
#[utoipa::path(post, path = "/integrations", tag = "Integrations", request_body = NewIntegration,
    responses((status = 201, body = IntegrationWithSecret)))]
async fn create_integration(
    actor: Can<Configure>,
    State(state): State<AppState>,
    Json(new): Json<NewIntegration>,
) -> Result<(StatusCode, Tagged<IntegrationWithSecret>), Problem> {
    let made = state.headgate.create_integration(&actor, &new).await?;
    Ok((StatusCode::CREATED, Tagged(made)))
}

/// Returns an integration.
#[utoipa::path(get, path = "/integrations/{id}", tag = "Integrations", responses((status = 200, body = Integration)))]
async fn get_integration(
    actor: Can<Read>,
    State(state): State<AppState>,
    Id(id): Id<IntegrationId>,
) -> Result<Tagged<Integration>, Problem> {
    Ok(Tagged(shown(&state, &actor, state.delivery.integration(actor.scope(), id).await?).await?))
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
    State(state): State<AppState>,
    Id(id): Id<IntegrationId>,
    IfMatch(if_match): IfMatch,
    Json(changes): Json<IntegrationChanges>,
) -> Result<Tagged<Integration>, Problem> {
    let changes = IntegrationChanges { if_match, ..changes };
    Ok(Tagged(state.headgate.update_integration(&actor, id, &changes).await?))
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
    State(state): State<AppState>,
    Id(id): Id<IntegrationId>,
    Query(params): Query<DeleteParams>,
    if_match: IfMatch,
) -> Result<Response, Problem> {
    Ok(deleted(state.headgate.delete_integration(&actor, id, &params.with_if_match(if_match)).await?))
}

/// Returns how an integration is doing, as its app may see it. Counts are read at the time of the call.
#[utoipa::path(get, path = "/integrations/{id}/status", tag = "Integrations", responses((status = 200, body = SyncStatus)))]
async fn get_status(
    actor: Can<Read>,
    State(state): State<AppState>,
    Id(id): Id<IntegrationId>,
) -> Result<Answer<SyncStatus>, Problem> {
    Ok(Answer(shown(&state, &actor, state.delivery.status(actor.scope(), id).await?).await?))
}

/// Lists the data last sent, per record, ordered by type and id. Secrets in it read `[masked]` unless the key's role is operator.
#[utoipa::path(get, path = "/integrations/{id}/sent", tag = "Integrations", params(SentParams, PageParams),
    responses((status = 200, body = Page<SentRecord>)))]
async fn list_sent(
    actor: Can<Read>,
    State(state): State<AppState>,
    Id(id): Id<IntegrationId>,
    query: ListQuery<SentParams, RecordPageRequest>,
) -> Result<Answer<Page<SentRecord>>, Problem> {
    let SentParams { record_type, record_id } = query.filter;
    let filter = SentFilter { record_type, record_id };
    let app_id = state.delivery.integration(actor.scope(), id).await?.app_id;
    let (lists, scope) = (&state.lists(), actor.scope());
    let filter = &filter;
    let page =
        read_in_parts(query.page, |page| async move { lists.sent(scope, id, filter, &page).await }).await?;
    let (_, page) = shown(&state, &actor, (app_id, page)).await?;
    Ok(Answer(page))
}
