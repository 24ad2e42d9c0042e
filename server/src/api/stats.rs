//! `/stats`: the newest gauges, and rollups. `/live` streams them.

use super::extract::{Can, Id, ListQuery, NoFilter, PageParams, Query, Read};
use super::problem::{JsonResult, Problem};
use crate::state::AppState;
use axum::Json as Answer;
use chrono::{DateTime, Utc};
use model::activity::{Activity, Span};
use model::id::IntegrationId;
use model::moment;
use model::page::Page;
use model::stats::{Answers, IntegrationGauge, Levels, Snapshot, Throughput, Window};
use model::views::overview::NotRecorded;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(get_overview))
        .routes(routes!(list_gauges))
        .routes(routes!(get_throughput))
        .routes(routes!(get_levels))
        .routes(routes!(list_activity))
        .routes(routes!(get_answers))
}

#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct ThroughputParams {
    /// `15m` in steps of 10 seconds, `1h` (default) of a minute, `6h` of 5 minutes, `24h` of 15 minutes, `7d` of 2 hours.
    #[param(inline)]
    window: Window,
    /// Only this integration.
    integration_id: Option<IntegrationId>,
    /// Where the window ends, instead of now: `2026-11-22T06:13:00Z`. All integrations together go back 3 days from now, a single one 25 hours,
    /// `7d` 90 days. Steps are then at least a minute.
    #[serde(deserialize_with = "moment::optional")]
    at: Option<DateTime<Utc>>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct LevelsParams {
    /// `15m` and `1h` (default) in steps of a minute, `6h` of 5 minutes, `24h` of 15 minutes, `7d` of 2 hours.
    #[param(inline)]
    window: Window,
    /// Where the window ends, instead of now.
    #[serde(deserialize_with = "moment::optional")]
    at: Option<DateTime<Utc>>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct MomentParams {
    /// A recorded minute of the last 25 hours: `2026-11-22T06:13:00Z`. Default: now.
    #[serde(deserialize_with = "moment::optional")]
    at: Option<DateTime<Utc>>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct ActivityParams {
    /// Not before this time.
    #[serde(deserialize_with = "moment::optional")]
    from: Option<DateTime<Utc>>,
    /// Not after this time.
    #[serde(deserialize_with = "moment::optional")]
    until: Option<DateTime<Utc>>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct AnswersParams {
    /// As for `/stats/throughput`, in steps of at least a minute.
    #[param(inline)]
    window: Window,
}

/// Returns the latest snapshot of the deployment, or the one recorded at a minute of the last 25 hours.
///
/// A key that is bound to an app sees that app only. The latest snapshot costs the database nothing: it is sampled once a second for everybody,
/// and `at` is the time of the sample.
#[utoipa::path(get, path = "/stats/overview", tag = "Statistics", params(MomentParams), responses((status = 200, body = Snapshot),
    (status = 404, description = "That minute was not recorded or is no longer kept: the detail names the nearest recorded one.")))]
async fn get_overview(can: Can<Read>, Query(params): Query<MomentParams>) -> JsonResult<Snapshot> {
    can.headgate.snapshot_at(&can, params.at).await?.map(Answer).map_err(not_recorded)
}

/// Lists the gauges of every integration, on one page; as old as `/stats/overview`.
#[utoipa::path(get, path = "/stats/integrations", tag = "Statistics", responses((status = 200, body = Page<IntegrationGauge>),
    (status = 422, description = "A query parameter is not known, or cannot be read.")))]
async fn list_gauges(can: Can<Read>, _: Query<NoFilter>) -> JsonResult<Page<IntegrationGauge>> {
    Ok(Answer(Page { items: can.headgate.gauges(&can).await?, next_cursor: None }))
}

/// Returns throughput over time.
#[utoipa::path(get, path = "/stats/throughput", tag = "Statistics", params(ThroughputParams),
    responses((status = 200, body = Throughput), (status = 404, description = "The integration does not exist, or belongs to another app.")))]
async fn get_throughput(can: Can<Read>, Query(params): Query<ThroughputParams>) -> JsonResult<Throughput> {
    let ThroughputParams { window, integration_id, at } = params;
    Ok(Answer(can.headgate.throughput(&can, integration_id, window, at).await?))
}

/// Returns how many jobs were in each state over time, for the whole deployment. A key that is bound to an app is refused. Kept for 8 days.
#[utoipa::path(get, path = "/stats/levels", tag = "Statistics", params(LevelsParams),
    responses((status = 200, body = Levels)))]
async fn get_levels(can: Can<Read>, Query(params): Query<LevelsParams>) -> JsonResult<Levels> {
    Ok(Answer(can.headgate.levels(&can, params.window, params.at).await?))
}

/// Lists what happened, newest first: breakers that changed state, changes by operators and programs, pauses of the engine, processes and versions
/// that started.
///
/// A key that is bound to an app sees what concerns that app. Kept for 30 days; actions of people and programs as long as the audit log.
#[utoipa::path(get, path = "/stats/activity", tag = "Statistics", params(ActivityParams, PageParams),
    responses((status = 200, body = Page<Activity>)))]
async fn list_activity(can: Can<Read>, query: ListQuery<ActivityParams>) -> JsonResult<Page<Activity>> {
    let span = Span { from: query.filter.from, until: query.filter.until };
    Ok(Answer(can.headgate.activity(&can, span, query.page).await?))
}

fn not_recorded(NotRecorded { nearest }: NotRecorded) -> Problem {
    let nearest = nearest.map_or_else(
        || "Nothing was recorded yet.".to_owned(),
        |at| format!("The nearest recorded minute is {}.", at.format("%Y-%m-%dT%H:%MZ")),
    );
    Problem::not_recorded(format!("That minute was not recorded or is no longer kept. {nearest}"))
}

/// Returns what an external system answered over time, by HTTP status.
///
/// Counts requests, not jobs. Status 0 stands for no answer, because the connection failed or timed out. The counts of the last second of a process
/// that is killed are lost.
#[utoipa::path(get, path = "/stats/integrations/{id}/answers", tag = "Statistics", params(AnswersParams),
    responses((status = 200, body = Answers)))]
async fn get_answers(
    can: Can<Read>,
    Id(id): Id<IntegrationId>,
    Query(params): Query<AnswersParams>,
) -> JsonResult<Answers> {
    Ok(Answer(can.headgate.answers(&can, id, params.window).await?))
}
