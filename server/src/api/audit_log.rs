//! `/audit-log`

use super::{
    extract::{Can, Configure, Id, ListQuery, PageParams, ReadDeployment},
    problem::Problem,
};
use crate::state::AppState;
use axum::{Json as Answer, extract::State};
use model::{
    audit::{AuditEntry, AuditFilter},
    id::AuditEntryId,
    page::Page,
    rules::masking::Sensitive as _,
};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_audit_log))
        .routes(routes!(get_audit_entry))
        .routes(routes!(undo_audit_entry))
        .routes(routes!(repeat_audit_entry))
}

/// Lists who did what, newest first. Entries outlive what they are about and never contain secrets.
#[utoipa::path(get, path = "/audit-log", tag = "Deployment", params(AuditFilter, PageParams),
    responses((status = 200, body = Page<AuditEntry>)))]
async fn list_audit_log(
    actor: Can<ReadDeployment>,
    State(state): State<AppState>,
    query: ListQuery<AuditFilter>,
) -> Result<Answer<Page<AuditEntry>>, Problem> {
    let mut page = access::audit::list(&state.console_pool, &query.filter, query.page).await?;
    page.hide_internals(actor.role);
    Ok(Answer(page))
}

/// Returns an entry of the audit log.
#[utoipa::path(get, path = "/audit-log/{id}", tag = "Deployment", responses((status = 200, body = AuditEntry)))]
async fn get_audit_entry(
    actor: Can<ReadDeployment>,
    State(state): State<AppState>,
    Id(id): Id<AuditEntryId>,
) -> Result<Answer<AuditEntry>, Problem> {
    let mut entry = access::audit::get(&state.pool, id).await?;
    entry.hide_internals(actor.role);
    Ok(Answer(entry))
}

/// Undoes what an entry records. For operators.
///
/// The undo has an entry of its own, which is the answer. 409: there is no inverse (`no-inverse`), it was undone already (`already-undone`), or
/// the object was changed since (`changed-since`).
#[utoipa::path(post, path = "/audit-log/{id}/undo", tag = "Deployment", responses((status = 200, body = AuditEntry)))]
async fn undo_audit_entry(
    actor: Can<Configure>,
    State(state): State<AppState>,
    Id(id): Id<AuditEntryId>,
) -> Result<Answer<AuditEntry>, Problem> {
    Ok(Answer(state.headgate.undo(&actor, id).await?))
}

/// Repeats what an entry records. For operators.
///
/// The repetition has an entry of its own, which is the answer. 409: the entry does not contain enough to repeat it (`not-repeatable`), or
/// nothing matches any more (`nothing-matches`).
#[utoipa::path(post, path = "/audit-log/{id}/repeat", tag = "Deployment", responses((status = 200, body = AuditEntry)))]
async fn repeat_audit_entry(
    actor: Can<Configure>,
    State(state): State<AppState>,
    Id(id): Id<AuditEntryId>,
) -> Result<Answer<AuditEntry>, Problem> {
    Ok(Answer(state.headgate.repeat(&actor, id).await?))
}
