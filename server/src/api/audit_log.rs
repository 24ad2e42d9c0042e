//! `/audit-log`

use super::extract::{Can, Configure, Id, ListQuery, PageParams, ReadDeployment};
use super::problem::JsonResult;
use crate::state::AppState;
use axum::Json as Answer;
use model::audit::{AuditEntry, AuditFilter};
use model::id::AuditEntryId;
use model::page::Page;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_audit_log))
        .routes(routes!(get_audit_entry))
        .routes(routes!(undo_audit_entry))
        .routes(routes!(repeat_audit_entry))
}

/// Lists who did what, newest first. Entries outlive what they are about and never contain secrets.
///
/// Payload values that bulk actions and saved views filter by read `[masked]` unless the key's role is operator.
#[utoipa::path(get, path = "/audit-log", tag = "Deployment", params(AuditFilter, PageParams),
    responses((status = 200, body = Page<AuditEntry>)))]
async fn list_audit_log(
    can: Can<ReadDeployment>,
    query: ListQuery<AuditFilter>,
) -> JsonResult<Page<AuditEntry>> {
    Ok(Answer(can.headgate.audit_log(&can, &query.filter, query.page).await?))
}

/// Returns an entry of the audit log.
#[utoipa::path(get, path = "/audit-log/{id}", tag = "Deployment", responses((status = 200, body = AuditEntry)))]
async fn get_audit_entry(can: Can<ReadDeployment>, Id(id): Id<AuditEntryId>) -> JsonResult<AuditEntry> {
    Ok(Answer(can.headgate.audit_entry(&can, id).await?))
}

/// Undoes what an entry records. For operators.
///
/// The undo has an entry of its own, which is the answer. 409: there is no inverse (`no-inverse`), it was undone already (`already-undone`), or
/// the object was changed since (`changed-since`).
#[utoipa::path(post, path = "/audit-log/{id}/undo", tag = "Deployment", responses((status = 200, body = AuditEntry)))]
async fn undo_audit_entry(can: Can<Configure>, Id(id): Id<AuditEntryId>) -> JsonResult<AuditEntry> {
    Ok(Answer(can.headgate.undo(&can, id).await?))
}

/// Repeats what an entry records. For operators.
///
/// The repetition has an entry of its own, which is the answer. 409: the entry does not contain enough to repeat it (`not-repeatable`), or
/// nothing matches any more (`nothing-matches`).
#[utoipa::path(post, path = "/audit-log/{id}/repeat", tag = "Deployment", responses((status = 200, body = AuditEntry)))]
async fn repeat_audit_entry(can: Can<Configure>, Id(id): Id<AuditEntryId>) -> JsonResult<AuditEntry> {
    Ok(Answer(can.headgate.repeat(&can, id).await?))
}
