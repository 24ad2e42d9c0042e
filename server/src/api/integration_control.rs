//! `/integrations/{id}/…`: pause, resume, circuit breaker, secret rotation, test, re-sync.

use super::extract::{Can, Configure, Id, Json, ListQuery, NoFilter, OptionalJson, PageParams, Read, Resync};
use super::problem::{JsonResult, Problem};
use crate::state::AppState;
use axum::{Json as Answer, http::StatusCode};
use model::breaker::{BreakerFlip, BreakerOrder};
use model::id::IntegrationId;
use model::integration::{Integration, IntegrationWithSecret};
use model::integration_bulk::{IntegrationBulkOutcome, NewIntegrationBulk};
use model::integration_control::{Pause, TestAnswer};
use model::page::Page;
use model::resync::{NewResync, ResyncStarted};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(bulk_integrations))
        .routes(routes!(pause_integration))
        .routes(routes!(resume_integration))
        .routes(routes!(steer_breaker))
        .routes(routes!(list_breaker_flips))
        .routes(routes!(rotate_secret))
        .routes(routes!(test_integration))
        .routes(routes!(start_resync))
}

/// Pauses, resumes or limits many integrations: those in `ids`, or those that match `filter`, at most 1,000.
///
/// Each is changed by itself, with its own entry in the audit log; one that cannot be changed, or is in that state already, is listed in `skipped`
/// and does not affect the others. `dry_run` only counts.
///
/// `set_limit` gives each the `rate_limit`, `clear_limit` removes it; integrations that share a `rate_limit_key` get it together. An empty
/// filter, more than 1,000 matches, and a limit with another action are 422.
#[utoipa::path(post, path = "/integrations/bulk", tag = "Integrations", request_body = NewIntegrationBulk,
    responses((status = 200, body = IntegrationBulkOutcome)))]
async fn bulk_integrations(
    can: Can<Configure>,
    Json(bulk): Json<NewIntegrationBulk>,
) -> JsonResult<IntegrationBulkOutcome> {
    Ok(Answer(can.headgate.bulk_integrations(&can, bulk).await?))
}

/// Pauses an integration: its jobs are still accepted and wait.
#[utoipa::path(post, path = "/integrations/{id}/pause", tag = "Integrations", request_body = Option<Pause>,
    responses((status = 200, body = Integration)))]
async fn pause_integration(
    can: Can<Configure>,
    Id(id): Id<IntegrationId>,
    OptionalJson(pause): OptionalJson<Pause>,
) -> JsonResult<Integration> {
    let reason = pause.into_reason()?;
    Ok(Answer(can.headgate.pause_integration(&can, id, reason.as_deref()).await?))
}

/// Resumes an integration: its jobs run again.
#[utoipa::path(post, path = "/integrations/{id}/resume", tag = "Integrations", responses((status = 200, body = Integration)))]
async fn resume_integration(can: Can<Configure>, Id(id): Id<IntegrationId>) -> JsonResult<Integration> {
    Ok(Answer(can.headgate.resume_integration(&can, id).await?))
}

/// Controls the circuit breaker of an integration.
///
/// `probe` lets its probes through now, even before the end of a hold; `close` lets everything run again at once; `hold` keeps it open until a
/// time, whatever the external system answers.
///
/// While it is open, jobs wait where they are and no attempt is counted. A `probe` of a breaker that is not open, and a `close` of one that is
/// closed, change nothing and answer 200 too. Unknown actions, a hold without `until`, with one in the past or more than 30 days ahead, and an
/// `until` without a hold are 422 at `/action` or `/until`.
#[utoipa::path(post, path = "/integrations/{id}/breaker", tag = "Integrations", request_body = BreakerOrder,
    responses((status = 200, body = Integration)))]
async fn steer_breaker(
    can: Can<Configure>,
    Id(id): Id<IntegrationId>,
    Json(order): Json<BreakerOrder>,
) -> JsonResult<Integration> {
    Ok(Answer(can.headgate.steer_breaker(&can, id, order).await?))
}

/// Lists the changes of an integration's circuit breaker in the last 30 days, newest first, each with who made it (the engine or an actor).
#[utoipa::path(get, path = "/integrations/{id}/breaker/flips", tag = "Integrations", params(PageParams),
    responses((status = 200, body = Page<BreakerFlip>)))]
async fn list_breaker_flips(
    can: Can<Read>,
    Id(id): Id<IntegrationId>,
    query: ListQuery<NoFilter>,
) -> JsonResult<Page<BreakerFlip>> {
    Ok(Answer(can.headgate.breaker_flips(&can, id, query.page).await?))
}

/// Creates a new signing secret. Only this answer shows it. For 24 hours requests carry both signatures.
#[utoipa::path(post, path = "/integrations/{id}/rotate-secret", tag = "Integrations",
    responses((status = 200, body = IntegrationWithSecret)))]
async fn rotate_secret(can: Can<Configure>, Id(id): Id<IntegrationId>) -> JsonResult<IntegrationWithSecret> {
    Ok(Answer(can.headgate.rotate_secret(&can, id).await?))
}

/// Sends a signed sample now, bypassing queue and limits, and returns what the external system answered.
#[utoipa::path(post, path = "/integrations/{id}/test", tag = "Integrations", responses((status = 200, body = TestAnswer)))]
async fn test_integration(can: Can<Configure>, Id(id): Id<IntegrationId>) -> JsonResult<TestAnswer> {
    Ok(Answer(can.headgate.test_integration(&can, id).await?))
}

/// Starts a re-sync: sends the catalog again, or a part of it. 409 while one of the same scope runs; 429 with `retry-after` during the cool-down.
#[utoipa::path(post, path = "/integrations/{id}/resync", tag = "Re-syncs", request_body = Option<NewResync>,
    responses((status = 202, body = ResyncStarted), (status = 429, description = "During the cool-down: see retry-after.", headers(("retry-after" = i64, description = "Seconds to wait."))),
        (status = 409, description = "A re-sync of the same scope runs (`resync-running`), or the integration is external (`external`) or switched off (`disabled`).")))]
async fn start_resync(
    can: Can<Resync>,
    Id(id): Id<IntegrationId>,
    OptionalJson(new): OptionalJson<NewResync>,
) -> Result<(StatusCode, Answer<ResyncStarted>), Problem> {
    new.check()?;
    let started = can.headgate.start_resync(&can, id, &new).await?;
    Ok((StatusCode::ACCEPTED, Answer(started)))
}
