//! `/retention`

use super::{
    extract::{Can, ReadDeployment},
    problem::Problem,
};
use crate::state::AppState;
use axum::{Json as Answer, extract::State};
use model::storage::Retention;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_retention))
}

/// Returns what is kept, for how long, and how much space it takes. Sizes are exact; rows are Postgres' last estimate.
#[utoipa::path(get, path = "/retention", tag = "Deployment", responses((status = 200, body = Retention)))]
async fn get_retention(
    _: Can<ReadDeployment>,
    State(state): State<AppState>,
) -> Result<Answer<Retention>, Problem> {
    Ok(Answer(insight::store::storage::retention(&state.console_pool, state.settings.retentions).await?))
}
