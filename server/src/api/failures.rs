//! `/failures`: jobs that wait for a retry and dead letters, by cause.

use super::bulk;
use super::extract::{Can, Id, Json, ListQuery, OptionalJson, PageParams, Query, Read, SteerJobs};
use super::problem::{JsonResult, Problem};
use crate::state::AppState;
use axum::{Json as Answer, response::Response};
use model::failure::{
    CauseId, FailureDetail, FailureFilter, FailureGroup, FailureNoteResult, FailureStep, RetryFailure,
    SetFailureNote, SnoozeFailure,
};
use model::id::{AppId, IntegrationId};
use model::operation::BulkStarted;
use model::page::Page;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_failures))
        .routes(routes!(get_failure))
        .routes(routes!(retry_failure))
        .routes(routes!(snooze_failure))
        .routes(routes!(fix_failure))
        .routes(routes!(reopen_failure))
        .routes(routes!(tell_failure))
}

/// Lists failures by cause across integrations, those with the most jobs first; of those that are `over`, the most recently failed first.
///
/// Counted as failures happen and summed every second. With `app_id` or `integration_id` every number is of that app or integration only. Groups
/// that are over are kept for 7 days.
#[utoipa::path(get, path = "/failures", tag = "Failures", params(FailureFilter, PageParams),
    responses((status = 200, body = Page<FailureGroup>)))]
async fn list_failures(can: Can<Read>, query: ListQuery<FailureFilter>) -> JsonResult<Page<FailureGroup>> {
    Ok(Answer(can.headgate.failures(&can, &query.filter, query.page).await?))
}

#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct ShareParams {
    /// Only this app's share of the group.
    app_id: Option<AppId>,
    /// Only this integration's share of the group.
    integration_id: Option<IntegrationId>,
}

/// Returns a failure group: its cause in plain words, what helps, and which integrations are affected.
#[utoipa::path(get, path = "/failures/{fingerprint}", tag = "Failures", params(ShareParams),
    responses((status = 200, body = FailureDetail)))]
async fn get_failure(
    can: Can<Read>,
    Id(cause): Id<CauseId>,
    Query(share): Query<ShareParams>,
) -> JsonResult<FailureDetail> {
    let ShareParams { app_id, integration_id } = share;
    let filter = FailureFilter { state: None, app_id, integration_id };
    Ok(Answer(can.headgate.failure(&can, cause, &filter).await?))
}

/// Requeues all jobs of the group that wait for a retry or are dead letters, with all their attempts again.
///
/// The same as `POST /jobs/bulk` with its `fingerprint`. Up to 100 are done at once (200); more in the background (202).
#[utoipa::path(post, path = "/failures/{fingerprint}/retry", tag = "Failures", request_body = Option<RetryFailure>,
    responses((status = 200, body = inline(bulk::Answered)), (status = 202, body = BulkStarted)))]
async fn retry_failure(
    can: Can<SteerJobs>,
    Id(cause): Id<CauseId>,
    OptionalJson(retry): OptionalJson<RetryFailure>,
) -> Result<Response, Problem> {
    Ok(bulk::answer(can.headgate.retry_failure(&can, cause, retry).await?))
}

/// Snoozes a group until a time at most 90 days ahead. Meanwhile its jobs are retried as before.
#[utoipa::path(post, path = "/failures/{fingerprint}/snooze", tag = "Failures", request_body = SnoozeFailure,
    responses((status = 200, body = FailureGroup)))]
async fn snooze_failure(
    can: Can<SteerJobs>,
    Id(cause): Id<CauseId>,
    Json(snooze): Json<SnoozeFailure>,
) -> JsonResult<FailureGroup> {
    Ok(Answer(can.headgate.mark_failure(&can, cause, FailureStep::Snooze(snooze.until)).await?))
}

/// Marks the cause as fixed. The next failure by it reopens the group.
#[utoipa::path(post, path = "/failures/{fingerprint}/fix", tag = "Failures", responses((status = 200, body = FailureGroup)))]
async fn fix_failure(can: Can<SteerJobs>, Id(cause): Id<CauseId>) -> JsonResult<FailureGroup> {
    Ok(Answer(can.headgate.mark_failure(&can, cause, FailureStep::Fix).await?))
}

/// Reopens a group that was snoozed or marked as fixed.
#[utoipa::path(post, path = "/failures/{fingerprint}/reopen", tag = "Failures", responses((status = 200, body = FailureGroup)))]
async fn reopen_failure(can: Can<SteerJobs>, Id(cause): Id<CauseId>) -> JsonResult<FailureGroup> {
    Ok(Answer(can.headgate.mark_failure(&can, cause, FailureStep::Reopen).await?))
}

/// Sets a note in plain words for the apps of the affected integrations; null removes it.
///
/// They see it in the integration's `status` (`notes`) as long as jobs fail by this cause and it is not marked as fixed.
#[utoipa::path(post, path = "/failures/{fingerprint}/tell", tag = "Failures", request_body = SetFailureNote,
    responses((status = 200, body = FailureNoteResult)))]
async fn tell_failure(
    can: Can<SteerJobs>,
    Id(cause): Id<CauseId>,
    Json(tell): Json<SetFailureNote>,
) -> JsonResult<FailureNoteResult> {
    Ok(Answer(can.headgate.set_failure_note(&can, cause, tell).await?))
}
