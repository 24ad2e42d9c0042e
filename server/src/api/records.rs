//! `/records`: the catalog, Headgate's copy of the apps' records.

use super::extract::{Can, ListQuery, PageParams, Read, RecordPath};
use super::problem::JsonResult;
use crate::state::AppState;
use axum::Json as Answer;
use model::page::Page;
use model::record::{Record, RecordFilter, RecordWithSync};
use model::record_page::RecordPageRequest;
use model::trail::{Trail, TrailQuery};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_records)).routes(routes!(get_trail)).routes(routes!(get_record))
}

/// Lists records ordered by app, type and id, without deleted ones. Secrets in them read `[masked]` unless the key's role is operator.
#[utoipa::path(get, path = "/records", tag = "Records", params(RecordFilter, PageParams),
    responses((status = 200, body = Page<Record>)))]
async fn list_records(
    can: Can<Read>,
    query: ListQuery<RecordFilter, RecordPageRequest>,
) -> JsonResult<Page<Record>> {
    Ok(Answer(can.headgate.records(&can, &query.filter, query.page).await?))
}

/// Finds everything a text may identify, and every job about it.
///
/// For support: the text is looked up as the id of a record, the id of a job, a correlation id, a deduplication id and the name of an app, each by
/// an index, and the answer contains what each reading found. The jobs of all readings are on one time line, newest first: waiting, running,
/// finished and dead ones of every integration, and also a change that waits behind a running job. Finished jobs are found as long as retention
/// keeps them. If nothing is found the answer is empty, not 404.
#[utoipa::path(get, path = "/records/trail", tag = "Records", params(TrailQuery, PageParams),
    responses((status = 200, body = Trail)))]
async fn get_trail(can: Can<Read>, query: ListQuery<TrailQuery>) -> JsonResult<Trail> {
    Ok(Answer(can.headgate.trail(&can, &query.filter, query.page).await?))
}

/// Returns a record with what was sent of it to each integration.
#[utoipa::path(get, path = "/records/{app_id}/{record_type}/{record_id}", tag = "Records",
    responses((status = 200, body = RecordWithSync)))]
async fn get_record(can: Can<Read>, RecordPath(key): RecordPath) -> JsonResult<RecordWithSync> {
    Ok(Answer(can.headgate.record(&can, &key).await?))
}
