//! `/jobs`

use super::{
    bulk,
    extract::{Can, Configure, Id, Json, ListQuery, Many, PageParams, Produce, ReadJobs, SteerJobs, Trace},
    problem::{JsonResult, Problem},
};
use crate::state::AppState;
use axum::{Json as Answer, http::StatusCode, response::Response};
use model::filter::JobFilter;
use model::id::JobId;
use model::job::{EnqueuedJob, Job, JobDetail, NewJob};
use model::one_or_many::OneOrMany;
use model::operation::{BulkStarted, BulkSubject, NewBulk};
use model::page::Page;
use model::rules::explain::Explanation;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_jobs, create_jobs))
        .routes(routes!(bulk_jobs))
        .routes(routes!(get_job))
        .routes(routes!(explain_job))
        .routes(routes!(requeue_job))
        .routes(routes!(cancel_job))
        .routes(routes!(edit_job))
}

/// The outcome of each job, in the order of the request.
#[derive(Serialize, ToSchema)]
struct Enqueued {
    /// One item for each job of the request.
    items: Vec<EnqueuedJob>,
}

/// Lists jobs in every state, newest first; finished ones only of the last 24 hours unless `created_after` says otherwise.
///
/// Values whose names suggest a secret (`password`, `apiKey`, `card_number`) and fields that the deployment or an integration of the app marks
/// as masked read `[masked]` in payloads, results, errors and answers, unless the key's role is operator or producer.
#[utoipa::path(get, path = "/jobs", tag = "Jobs", params(JobFilter, PageParams), responses((status = 200, body = Page<Job>)))]
async fn list_jobs(can: Can<ReadJobs>, query: ListQuery<JobFilter>) -> JsonResult<Page<Job>> {
    Ok(Answer(can.headgate.jobs(&can, &query.filter, query.page).await?))
}

/// Creates one job, or an array of up to 1,000; all or none. A job whose deduplication id is waiting already is folded into the waiting one.
#[utoipa::path(post, path = "/jobs", tag = "Jobs",
    request_body = OneOrMany<NewJob>,
    params(("traceparent" = Option<String>, Header, description = "W3C Trace Context: requests of these jobs continue this trace, each attempt \
        with a parent id of its own, and keep its sampled flag. A malformed header is ignored, and so is `tracestate`.")),
    responses((status = 201, body = Enqueued)))]
async fn create_jobs(
    can: Can<Produce>,
    Trace(trace): Trace,
    Many(jobs): Many<NewJob>,
) -> Result<(StatusCode, Answer<Enqueued>), Problem> {
    let items = can.headgate.create_jobs(&can, jobs, trace).await?;
    Ok((StatusCode::CREATED, Answer(Enqueued { items })))
}

/// Requeues or cancels many jobs: `ids`, or all that match a filter.
///
/// Up to 100 are done at once (200); more in the background (202). A job that is being processed counts as changed once its worker was asked to
/// stop: see `POST /jobs/{id}/cancel`.
#[utoipa::path(post, path = "/jobs/bulk", tag = "Jobs", request_body(content = ref("#/components/schemas/NewJobBulk"), content_type = "application/json"),
    responses((status = 200, body = inline(bulk::Answered)), (status = 202, body = BulkStarted)))]
async fn bulk_jobs(can: Can<SteerJobs>, Json(new): Json<NewBulk>) -> Result<Response, Problem> {
    Ok(bulk::answer(can.headgate.bulk(&can, BulkSubject::Jobs, new).await?))
}

/// Returns a job with its attempts. Secrets in it read `[masked]` unless the key's role is operator or producer.
#[utoipa::path(get, path = "/jobs/{id}", tag = "Jobs", responses((status = 200, body = JobDetail)))]
async fn get_job(can: Can<ReadJobs>, Id(id): Id<JobId>) -> JsonResult<JobDetail> {
    Ok(Answer(can.headgate.job(&can, id).await?))
}

/// Explains why a job is not running, or when it will run.
#[utoipa::path(get, path = "/jobs/{id}/explain", tag = "Jobs", responses((status = 200, body = Explanation)))]
async fn explain_job(can: Can<ReadJobs>, Id(id): Id<JobId>) -> JsonResult<Explanation> {
    Ok(Answer(can.headgate.explain_job(&can, id).await?))
}

/// Puts a failed or cancelled job back into the queue, with the same id and all its attempts again.
#[utoipa::path(post, path = "/jobs/{id}/requeue", tag = "Jobs", responses((status = 200, body = Job)))]
async fn requeue_job(can: Can<SteerJobs>, Id(id): Id<JobId>) -> JsonResult<Job> {
    Ok(Answer(can.headgate.requeue_job(&can, id).await?))
}

/// Cancels a live job.
///
/// A job that is being processed is stopped by its worker, which takes milliseconds; the answer waits for that, 2 seconds at most. If the worker
/// has not stopped by then, the answer is the job as it is, `processing` with `cancel_requested_at`: it keeps its deduplication id and serialize
/// key until it ends, so that no other attempt begins at the same time, and no further attempt follows. It ends as `cancelled`, with its failure
/// among its attempts, or as `completed` if it had completed by then. Asking again changes nothing. A job that has ended is 409.
#[utoipa::path(post, path = "/jobs/{id}/cancel", tag = "Jobs", responses((status = 200, body = Job)))]
async fn cancel_job(can: Can<SteerJobs>, Id(id): Id<JobId>) -> JsonResult<Job> {
    Ok(Answer(can.headgate.cancel_job(&can, id).await?))
}

/// What a failed job sends instead.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewPayload {
    /// Any JSON up to 1 MB.
    #[schema(value_type = Value)]
    payload: Value,
}

/// Gives a failed job another payload and puts it back into the queue, with the same id and all its attempts again.
///
/// The audit log keeps both payloads, with secrets masked. 409 for a job that has not failed, that follows a record (what it sends is computed
/// from the record), or that would be folded into another job with its deduplication id.
#[utoipa::path(post, path = "/jobs/{id}/edit", tag = "Jobs", request_body = NewPayload, responses((status = 200, body = Job)))]
async fn edit_job(can: Can<Configure>, Id(id): Id<JobId>, Json(new): Json<NewPayload>) -> JsonResult<Job> {
    Ok(Answer(can.headgate.edit_job(&can, id, &new.payload).await?))
}
