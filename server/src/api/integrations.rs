//! `/integrations`: made, found, changed, deleted. What is done with one stands in `integration_steering`.

use super::{
    apps::{DeleteParams, deleted},
    extract::{Can, Configure, Id, IfMatch, Json, ListQuery, PageParams, Query, Read},
    in_parts::in_parts,
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
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_integrations, create_integration))
        .routes(routes!(get_integration, update_integration, delete_integration))
        .routes(routes!(get_status))
        .routes(routes!(list_sent))
}

/// What the list is narrowed to.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct IntegrationParams {
    /// Of one app.
    app_id: Option<AppId>,
    /// In one state.
    state: Option<IntegrationState>,
}

/// What the list of sent records is narrowed to.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct SentParams {
    /// Of one type.
    record_type: Option<String>,
    /// One record.
    record_id: Option<String>,
}

/// Integrations, newest first.
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

/// Makes an integration. The answer shows its signing secret this once. It starts empty until records change or a re-sync is asked for.
///
/// Integrations of an app with the same `rate_limit_key` share one limit: whoever comes later leaves `rate_limit` out, or gives the same;
/// another one is 422 at `/rate_limit`.
#[utoipa::path(post, path = "/integrations", tag = "Integrations", request_body = NewIntegration,
    responses((status = 201, body = IntegrationWithSecret)))]
async fn create_integration(
    actor: Can<Configure>,
    State(state): State<AppState>,
    Json(new): Json<NewIntegration>,
) -> Result<(StatusCode, Tagged<IntegrationWithSecret>), Problem> {
    let made = state.steering().create_integration(&actor, &new).await?;
    Ok((StatusCode::CREATED, Tagged(made)))
}

/// One integration.
#[utoipa::path(get, path = "/integrations/{id}", tag = "Integrations", responses((status = 200, body = Integration)))]
async fn get_integration(
    actor: Can<Read>,
    State(state): State<AppState>,
    Id(id): Id<IntegrationId>,
) -> Result<Tagged<Integration>, Problem> {
    Ok(Tagged(shown(&state, &actor, state.delivery.integration(actor.scope(), id).await?).await?))
}

/// Changes an integration: what is absent stays; what is null becomes what it is when a new integration leaves it out (`max_concurrency` 50,
/// `timeout_ms`, `max_attempts` and `retry_schedule` the deployment's defaults, no limit, all record types, no headers). `name`, `endpoint_url`
/// and `state` cannot be null (422).
///
/// With a `rate_limit_key`, a new `rate_limit` holds for all integrations of the app that share it. A new key without a `rate_limit` takes
/// over the limit the key has.
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
    Ok(Tagged(state.steering().update_integration(&actor, id, &changes).await?))
}

/// Deletes an integration and what is known of its copy of the catalog. Live jobs stand against it (409) unless they are called off. From the answer
/// on nothing of it is accepted, sent or shown; what cannot be deleted at once goes in the background.
#[utoipa::path(delete, path = "/integrations/{id}", tag = "Integrations", params(DeleteParams),
    responses((status = 204, description = "Nothing is left of it."),
        (status = 202, body = DeletionStarted, description = "What is left of it goes in the background."),
        (status = 409, description = "Live jobs stand against it (`live-jobs`); the built-in integration stays (`built-in`).")))]
async fn delete_integration(
    actor: Can<Configure>,
    State(state): State<AppState>,
    Id(id): Id<IntegrationId>,
    Query(params): Query<DeleteParams>,
    if_match: IfMatch,
) -> Result<Response, Problem> {
    Ok(deleted(state.steering().delete_integration(&actor, id, &params.of(if_match)).await?))
}

/// How it is doing: what a customer may see. Counts are read at the call.
#[utoipa::path(get, path = "/integrations/{id}/status", tag = "Integrations", responses((status = 200, body = SyncStatus)))]
async fn get_status(
    actor: Can<Read>,
    State(state): State<AppState>,
    Id(id): Id<IntegrationId>,
) -> Result<Answer<SyncStatus>, Problem> {
    Ok(Answer(shown(&state, &actor, state.delivery.status(actor.scope(), id).await?).await?))
}

/// The data last sent, per record, in the order of type and id. Secrets in it read `[masked]` unless the key's role is operator.
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
    let page = in_parts(query.page, |page| async move { lists.sent(scope, id, filter, &page).await }).await?;
    let (_, page) = shown(&state, &actor, (app_id, page)).await?;
    Ok(Answer(page))
}
