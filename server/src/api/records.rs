//! `/records`: the catalog, Headgate's copy of the apps' records.

use super::{
    extract::{Can, ListQuery, PageParams, Read, RecordPath},
    masked::shown,
    problem::Problem,
};
use crate::state::AppState;
use axum::{Json as Answer, extract::State};
use delivery::{DeliveryError, RecordFilter, RecordPageRequest};
use model::{
    id::AppId,
    page::Page,
    record::{Record, RecordWithSync},
    trail::{Trail, TrailQuery, TrailReading},
};
use serde::Deserialize;
use service::read_in_parts;
use std::{
    mem,
    sync::{Mutex, PoisonError},
};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_records)).routes(routes!(get_trail)).routes(routes!(get_record))
}

#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct RecordParams {
    /// Only records of this app.
    app_id: Option<AppId>,
    /// Only records of this type.
    record_type: Option<String>,
}

/// Lists records ordered by app, type and id, without deleted ones. Secrets in them read `[masked]` unless the key's role is operator.
#[utoipa::path(get, path = "/records", tag = "Records", params(RecordParams, PageParams),
    responses((status = 200, body = Page<Record>)))]
async fn list_records(
    actor: Can<Read>,
    State(state): State<AppState>,
    query: ListQuery<RecordParams, RecordPageRequest>,
) -> Result<Answer<Page<Record>>, Problem> {
    let RecordParams { app_id, record_type } = query.filter;
    let filter = RecordFilter { app_id, record_type };
    let (lists, scope, filter) = (&state.lists(), actor.scope(), &filter);
    let page =
        read_in_parts(query.page, |page| async move { lists.records(scope, filter, &page).await }).await?;
    Ok(Answer(shown(&state, &actor, page).await?))
}

/// Finds everything a text may identify, and every job about it.
///
/// For support: the text is looked up as the id of a record, the id of a job, a correlation id, a deduplication id and the name of an app, each by
/// an index, and the answer contains what each reading found. The jobs of all readings are on one time line, newest first: waiting, running,
/// finished and dead ones of every integration, and also a change that waits behind a running job. Finished jobs are found as long as retention
/// keeps them. If nothing is found the answer is empty, not 404.
#[utoipa::path(get, path = "/records/trail", tag = "Records", params(TrailQuery, PageParams),
    responses((status = 200, body = Trail)))]
async fn get_trail(
    actor: Can<Read>,
    State(state): State<AppState>,
    query: ListQuery<TrailQuery>,
) -> Result<Answer<Trail>, Problem> {
    // Each part of the jobs looks the text up again. The last lookup is kept, with the readings of all parts, since those depend on the jobs.
    let found = Mutex::new(None::<Trail>);
    let (pool, scope, asked, whole) = (&state.console_pool, actor.scope(), &query.filter, &found);
    let read = |page| async move {
        let mut trail = delivery::trail(pool, scope, asked, page).await?;
        let part = Page { items: mem::take(&mut trail.items), next_cursor: trail.next_cursor.take() };
        let mut whole = whole.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = whole.as_ref() {
            let is_one = |reading: &TrailReading| {
                before.readings.contains(reading) || trail.readings.contains(reading)
            };
            trail.readings = TrailReading::ALL.iter().copied().filter(is_one).collect();
        }
        *whole = Some(trail);
        Ok::<_, DeliveryError>(part)
    };
    let Page { items, next_cursor } = read_in_parts(query.page, read).await?;
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let Some(found) = found else { return Err(Problem::internal()) };
    let trail = shown(&state, &actor, Trail { items, next_cursor, ..found }).await?;
    if trail.apps.is_empty() {
        return Ok(Answer(trail));
    }
    let snapshot = state.live.snapshot(&state.console_pool).await?;
    Ok(Answer(trail.with_gauges(&snapshot)))
}

/// Returns a record with what was sent of it to each integration.
#[utoipa::path(get, path = "/records/{app_id}/{record_type}/{record_id}", tag = "Records",
    responses((status = 200, body = RecordWithSync)))]
async fn get_record(
    actor: Can<Read>,
    State(state): State<AppState>,
    path: RecordPath,
) -> Result<Answer<RecordWithSync>, Problem> {
    let RecordPath { app_id, record_type, record_id } = &path;
    let record = state.delivery.record(actor.scope(), *app_id, record_type, record_id).await?;
    Ok(Answer(shown(&state, &actor, record).await?))
}
