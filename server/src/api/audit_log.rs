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
};
use service::Headgate;
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
    State(headgate): State<Headgate>,
    query: ListQuery<AuditFilter>,
) -> Result<Answer<Page<AuditEntry>>, Problem> {
    Ok(Answer(headgate.audit_log(&actor, &query.filter, query.page).await?))
}

/// Returns an entry of the audit log.
#[utoipa::path(get, path = "/audit-log/{id}", tag = "Deployment", responses((status = 200, body = AuditEntry)))]
async fn get_audit_entry(
    actor: Can<ReadDeployment>,
    State(headgate): State<Headgate>,
    Id(id): Id<AuditEntryId>,
) -> Result<Answer<AuditEntry>, Problem> {
    Ok(Answer(headgate.audit_entry(&actor, id).await?))
}

/// Undoes what an entry records. For operators.
///
/// The undo has an entry of its own, which is the answer. 409: there is no inverse (`no-inverse`), it was undone already (`already-undone`), or
/// the object was changed since (`changed-since`).
#[utoipa::path(post, path = "/audit-log/{id}/undo", tag = "Deployment", responses((status = 200, body = AuditEntry)))]
async fn undo_audit_entry(
    actor: Can<Configure>,
    State(headgate): State<Headgate>,
    Id(id): Id<AuditEntryId>,
) -> Result<Answer<AuditEntry>, Problem> {
    Ok(Answer(headgate.undo(&actor.also()?, id).await?))
}

/// Repeats what an entry records. For operators.
///
/// The repetition has an entry of its own, which is the answer. 409: the entry does not contain enough to repeat it (`not-repeatable`), or
/// nothing matches any more (`nothing-matches`).
#[utoipa::path(post, path = "/audit-log/{id}/repeat", tag = "Deployment", responses((status = 200, body = AuditEntry)))]
async fn repeat_audit_entry(
    actor: Can<Configure>,
    State(headgate): State<Headgate>,
    Id(id): Id<AuditEntryId>,
) -> Result<Answer<AuditEntry>, Problem> {
    Ok(Answer(headgate.repeat(&actor.also()?, id).await?))
}
