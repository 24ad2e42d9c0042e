//! `/dead-letters`

use super::bulk;
use super::extract::{Can, Id, Json, ListQuery, NoFilter, PageParams, Purge, Read, SteerJobs};
use super::problem::{JsonResult, Problem};
use crate::state::AppState;
use axum::{Json as Answer, http::StatusCode, response::Response};
use model::dead_letter::{BinPageRequest, BinnedLetter, DeadLetter, DeadLetterGroup, GroupPageRequest};
use model::filter::JobFilter;
use model::id::DeadLetterId;
use model::job::Job;
use model::operation::{BulkStarted, BulkSubject, NewBulk};
use model::page::Page;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_dead_letters))
        .routes(routes!(list_groups))
        .routes(routes!(bulk_dead_letters))
        .routes(routes!(list_bin))
        .routes(routes!(restore_dead_letter))
        .routes(routes!(get_dead_letter, purge_dead_letter))
        .routes(routes!(requeue_dead_letter))
}

/// Lists dead letters, newest first, each with its whole failure history. Secrets in them read `[masked]` unless the key's role is operator.
#[utoipa::path(get, path = "/dead-letters", tag = "Dead letters", params(JobFilter, PageParams),
    responses((status = 200, body = Page<DeadLetter>)))]
async fn list_dead_letters(can: Can<Read>, query: ListQuery<JobFilter>) -> JsonResult<Page<DeadLetter>> {
    Ok(Answer(can.headgate.dead_letters(&can, &query.filter, query.page).await?))
}

/// Groups dead letters by integration and normalised error, the largest groups first.
///
/// A group that grows or shrinks between two pages may appear twice, or not at all. Filtered by app, integration and cause the counts are exact,
/// because they are maintained; with any other filter the newest 3,000 matches are counted, or those among the newest 30,000 dead letters where
/// no index serves the filter (`is_least`: there may be more).
#[utoipa::path(get, path = "/dead-letters/groups", tag = "Dead letters", params(JobFilter, PageParams),
    responses((status = 200, body = Page<DeadLetterGroup>)))]
async fn list_groups(
    can: Can<Read>,
    query: ListQuery<JobFilter, GroupPageRequest>,
) -> JsonResult<Page<DeadLetterGroup>> {
    Ok(Answer(can.headgate.dead_letter_groups(&can, &query.filter, &query.page).await?))
}

/// Requeues or purges many dead letters: `ids`, or all that match a filter.
///
/// Up to 100 are done at once (200); more in the background (202), after a hold in which the operation can be withdrawn. Follow, stop and undo it
/// under `/operations/{id}`.
#[utoipa::path(post, path = "/dead-letters/bulk", tag = "Dead letters", request_body(content = ref("#/components/schemas/NewDeadLetterBulk"), content_type = "application/json"),
    responses((status = 200, body = inline(bulk::Answered)), (status = 202, body = BulkStarted)))]
async fn bulk_dead_letters(can: Can<SteerJobs>, Json(new): Json<NewBulk>) -> Result<Response, Problem> {
    Ok(bulk::answer(can.headgate.bulk(&can, BulkSubject::DeadLetters, new).await?))
}

/// Lists the bin: what was purged in the last 24 hours, newest first. After that it is deleted for good. Secrets read `[masked]` as in the list.
#[utoipa::path(get, path = "/dead-letters/bin", tag = "Dead letters", params(PageParams),
    responses((status = 200, body = Page<BinnedLetter>)))]
async fn list_bin(
    can: Can<Read>,
    query: ListQuery<NoFilter, BinPageRequest>,
) -> JsonResult<Page<BinnedLetter>> {
    Ok(Answer(can.headgate.binned(&can, query.page).await?))
}

/// Restores a purged dead letter from the bin; 404 when it is not in the bin, or its integration was deleted.
#[utoipa::path(post, path = "/dead-letters/{id}/restore", tag = "Dead letters",
    responses((status = 200, body = DeadLetter)))]
async fn restore_dead_letter(can: Can<SteerJobs>, Id(id): Id<DeadLetterId>) -> JsonResult<DeadLetter> {
    Ok(Answer(can.headgate.restore_dead_letter(&can, id).await?))
}

/// Returns a dead letter.
#[utoipa::path(get, path = "/dead-letters/{id}", tag = "Dead letters", responses((status = 200, body = DeadLetter)))]
async fn get_dead_letter(can: Can<Read>, Id(id): Id<DeadLetterId>) -> JsonResult<DeadLetter> {
    Ok(Answer(can.headgate.dead_letter(&can, id).await?))
}

/// Moves a dead letter to the bin, from which it can be restored for 24 hours.
#[utoipa::path(delete, path = "/dead-letters/{id}", tag = "Dead letters", responses((status = 204)))]
async fn purge_dead_letter(can: Can<Purge>, Id(id): Id<DeadLetterId>) -> Result<StatusCode, Problem> {
    can.headgate.purge_dead_letter(&can, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Puts the job back into the queue, with the same id and all its attempts again.
#[utoipa::path(post, path = "/dead-letters/{id}/requeue", tag = "Dead letters", responses((status = 200, body = Job)))]
async fn requeue_dead_letter(can: Can<SteerJobs>, Id(id): Id<DeadLetterId>) -> JsonResult<Job> {
    Ok(Answer(can.headgate.requeue_dead_letter(&can, id).await?))
}
