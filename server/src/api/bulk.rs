//! Bulk actions on jobs and on dead letters.

use super::{masked::refuse_internal_fields, problem::Problem};
use crate::state::AppState;
use axum::{
    Json as Answer,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use insight::store::operations::BulkStart;
use model::{
    actor::Actor,
    operation::{BulkAction, BulkDone, BulkOutcome, BulkSubject, DryRun, NewBulk},
    rules::permission::{Permission, is_allowed},
};
use serde::Serialize;
use utoipa::ToSchema;

/// What a dry run found, or what was done.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "for the OpenAPI document: handlers answer with the inner types")]
pub(super) enum Answered {
    /// With `dry_run`.
    DryRun(DryRun),
    /// Up to 100 jobs are done at once.
    Done(BulkDone),
}

pub(super) async fn start(
    state: &AppState,
    actor: &Actor,
    subject: BulkSubject,
    new: NewBulk,
) -> Result<Response, Problem> {
    new.check(subject)?;
    new.filter.as_ref().map_or(Ok(()), |filter| refuse_internal_fields(filter, "/filter/"))?;
    if new.action == BulkAction::Purge && !is_allowed(actor.role, Permission::Purge) {
        return Err(Problem::forbidden(format!("The role {} may not purge.", actor.role)));
    }
    Ok(answer(state.headgate.bulk(actor, subject, new).await?))
}

pub(super) fn answer(start: BulkStart) -> Response {
    match start {
        BulkStart::DryRun(dry_run) => Answer(dry_run).into_response(),
        BulkStart::Outcome(BulkOutcome::Done(done)) => Answer(done).into_response(),
        BulkStart::Outcome(BulkOutcome::Started(started)) => {
            (StatusCode::ACCEPTED, Answer(started)).into_response()
        }
    }
}
