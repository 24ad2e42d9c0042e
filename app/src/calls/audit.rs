//! The audit log: its lines, and undo and repeat from a line.

use super::{
    error::{CallError, FormRefused},
    json::Json,
};
use chrono::{DateTime, Utc};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::{audit::AuditEntry, id::AuditEntryId, page::Page};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditList {
    /// Newest first.
    pub page: Page<AuditLine>,
    /// Current names of the objects of the lines, by id.
    pub labels: BTreeMap<String, String>,
    pub as_of: DateTime<Utc>,
}

/// A line, and what its reader may do with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditLine {
    pub entry: AuditEntry,
    pub may_undo: bool,
    pub may_repeat: bool,
}

/// The lines that the page's query string asks for.
#[server(prefix = "/console", endpoint = "audit-log", input = GetUrl, output = Json)]
pub async fn list_audit_log(query: String) -> Result<AuditList, CallError> {
    use crate::{
        server::{actor, context},
        state::audit_filters::AuditQuery,
    };
    use model::rules::{masking::Sensitive as _, permission::is_allowed, undo};
    use service::permission;
    let role = actor::allowed::<permission::ReadDeployment>()?.role;
    let wanted = AuditQuery::parse(&query).map_err(|error| CallError::Invalid(error.to_string()))?;
    let cx = context::current()?;
    let mut page = access::audit::list(&cx.pool, &wanted.filter, wanted.page).await?;
    page.hide_internals(role);
    let labels = access::audit::labels(&cx.pool, &page.items).await?;
    let page = page.map(|entry| {
        let may = |change: Option<undo::UndoAction>| {
            change.is_some_and(|change| is_allowed(role, change.permission()))
        };
        AuditLine { may_undo: may(undo::undo(&entry)), may_repeat: may(undo::repeat(&entry)), entry }
    });
    Ok(AuditList { page, labels, as_of: Utc::now() })
}

/// Undoes the change of a line.
#[server(prefix = "/console", endpoint = "undo-audit-entry", output = Json)]
pub async fn undo_audit_entry(id: AuditEntryId, back: String) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, redirect},
    };
    use service::permission;
    redirect::answer(&back, async {
        let actor = actor::allowed::<permission::ReadDeployment>()?;
        outcome_of(context::current()?.headgate.undo(&actor, id).await, Flash::Undone)
    })
    .await
}

/// Repeats the change of a line.
#[server(prefix = "/console", endpoint = "repeat-audit-entry", output = Json)]
pub async fn repeat_audit_entry(id: AuditEntryId, back: String) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, redirect},
    };
    use service::permission;
    redirect::answer(&back, async {
        let actor = actor::allowed::<permission::ReadDeployment>()?;
        outcome_of(context::current()?.headgate.repeat(&actor, id).await, Flash::Repeated)
    })
    .await
}

/// Conflicts with a notice of their own are outcomes; other errors are passed on.
#[cfg(feature = "ssr")]
fn outcome_of(
    answer: Result<AuditEntry, service::ServiceError>,
    done: crate::components::Flash,
) -> Result<crate::components::Outcome, CallError> {
    use crate::components::Flash;
    use access::AccessError;
    use service::ServiceError;
    match answer {
        Ok(_) => Ok(done.into()),
        Err(ServiceError::Access(AccessError::Conflict { code: "changed-since", .. })) => {
            Ok(Flash::ChangedSince.into())
        }
        Err(ServiceError::Access(AccessError::Conflict { code: "already-undone", .. })) => {
            Ok(Flash::UndoneBefore.into())
        }
        Err(ServiceError::Access(AccessError::Conflict { code: "nothing-matches", .. })) => {
            Ok(Flash::NothingMatches.into())
        }
        Err(error) => Err(error.into()),
    }
}
