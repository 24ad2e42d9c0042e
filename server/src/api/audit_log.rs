//! `/audit-log`

use super::{
    extract::{Can, ListQuery, PageParams, ReadDeployment},
    problem::Problem,
};
use crate::state::AppState;
use axum::{Json as Answer, extract::State};
use model::{
    audit::{AuditEntry, AuditFilter},
    page::Page,
};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_audit_log))
}

/// Who did what, newest first. Outlives what it is about; secrets are never in it.
#[utoipa::path(get, path = "/audit-log", tag = "Deployment", params(AuditFilter, PageParams),
    responses((status = 200, body = Page<AuditEntry>)))]
async fn list_audit_log(
    _: Can<ReadDeployment>,
    State(state): State<AppState>,
    query: ListQuery<AuditFilter>,
) -> Result<Answer<Page<AuditEntry>>, Problem> {
    Ok(Answer(access::audit::list(&state.console_pool, &query.filter, query.page).await?))
}
