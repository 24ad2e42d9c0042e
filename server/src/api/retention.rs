//! `/retention`

use super::{
    extract::{Can, ReadDeployment},
    problem::Problem,
};
use crate::state::AppState;
use axum::{Json as Answer, extract::State};
use model::storage::Retention;
use service::Headgate;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_retention))
}

/// Returns what is kept, for how long, and how much space it takes. Sizes are exact; rows are Postgres' last estimate.
#[utoipa::path(get, path = "/retention", tag = "Deployment", responses((status = 200, body = Retention)))]
async fn get_retention(
    actor: Can<ReadDeployment>,
    State(headgate): State<Headgate>,
) -> Result<Answer<Retention>, Problem> {
    Ok(Answer(headgate.retention(&actor).await?))
}
