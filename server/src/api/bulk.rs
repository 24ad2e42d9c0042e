//! Answers to bulk actions on jobs and on dead letters.

use axum::Json as Answer;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use model::operation::{BulkDone, BulkOutcome, BulkStart, DryRun};
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

pub(super) fn answer(start: BulkStart) -> Response {
    match start {
        BulkStart::DryRun(dry_run) => Answer(dry_run).into_response(),
        BulkStart::Outcome(BulkOutcome::Done(done)) => Answer(done).into_response(),
        BulkStart::Outcome(BulkOutcome::Started(started)) => {
            (StatusCode::ACCEPTED, Answer(started)).into_response()
        }
    }
}
