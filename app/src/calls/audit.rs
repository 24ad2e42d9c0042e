//! The audit log: its lines, and undo and repeat from a line.

use super::error::{CallError, FormRefused};
use super::json::Json;
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::{id::AuditEntryId, views::audit::AuditList};

/// The lines that the page's query string asks for.
#[server(prefix = "/console", endpoint = "audit-log", input = GetUrl, output = Json)]
pub async fn list_audit_log(query: String) -> Result<AuditList, CallError> {
    use crate::server::{actor, context};
    use crate::state::audit_filters::AuditQuery;
    use service::permission;
    let actor = actor::allowed::<permission::ReadDeployment>()?;
    let AuditQuery { filter, page } =
        AuditQuery::parse(&query).map_err(|error| CallError::Invalid(error.to_string()))?;
    Ok(context::current()?.headgate.audit_list(&actor, &filter, page).await?)
}

/// Undoes the change of a line.
#[server(prefix = "/console", endpoint = "undo-audit-entry", output = Json)]
pub async fn undo_audit_entry(id: AuditEntryId, back: String) -> Result<(), FormRefused> {
    use crate::components::Flash;
    use crate::server::{actor, context, redirect};
    use service::permission;
    redirect::answer(&back, async {
        let actor = actor::allowed::<permission::Configure>()?;
        outcome_of(context::current()?.headgate.undo(&actor, id).await, Flash::Undone)
    })
    .await
}

/// Repeats the change of a line.
#[server(prefix = "/console", endpoint = "repeat-audit-entry", output = Json)]
pub async fn repeat_audit_entry(id: AuditEntryId, back: String) -> Result<(), FormRefused> {
    use crate::components::Flash;
    use crate::server::{actor, context, redirect};
    use service::permission;
    redirect::answer(&back, async {
        let actor = actor::allowed::<permission::Configure>()?;
        outcome_of(context::current()?.headgate.repeat(&actor, id).await, Flash::Repeated)
    })
    .await
}

/// Conflicts with a notice of their own are outcomes; other errors are passed on.
#[cfg(feature = "ssr")]
fn outcome_of(
    answer: Result<model::audit::AuditEntry, service::ServiceError>,
    done: crate::components::Flash,
) -> Result<crate::components::Outcome, CallError> {
    use crate::components::Flash;
    let Err(error) = answer else { return Ok(done.into()) };
    match error.conflict() {
        Some("changed-since") => Ok(Flash::ChangedSince.into()),
        Some("already-undone") => Ok(Flash::UndoneBefore.into()),
        Some("nothing-matches") => Ok(Flash::NothingMatches.into()),
        _ => Err(error.into()),
    }
}
