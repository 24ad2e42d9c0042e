//! `/retention`

use super::extract::{Can, ReadDeployment};
use super::problem::JsonResult;
use crate::state::AppState;
use axum::Json as Answer;
use model::storage::Retention;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_retention))
}

/// Returns what is kept, for how long, and how much space it takes. Sizes are exact; rows are Postgres' last estimate.
#[utoipa::path(get, path = "/retention", tag = "Deployment", responses((status = 200, body = Retention)))]
async fn get_retention(can: Can<ReadDeployment>) -> JsonResult<Retention> {
    Ok(Answer(can.headgate.retention(&can).await?))
}
