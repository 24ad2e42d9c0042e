//! The audit log: its lines, and what is done from one.

use super::{
    error::{CallError, FormRefused},
    json::Json,
};
use chrono::{DateTime, Utc};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::{audit::AuditEntry, id::AuditEntryId, page::Page};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One page of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditList {
    /// Newest first.
    pub page: Page<AuditLine>,
    /// What the things that lines are about are called now, by id.
    pub labels: BTreeMap<String, String>,
    /// The moment of the list.
    pub as_of: DateTime<Utc>,
}

/// A line, and what its reader may do from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditLine {
    /// What was done.
    pub entry: AuditEntry,
    /// Whether the reader may take it back.
    pub may_undo: bool,
    /// Whether the reader may do it again.
    pub may_repeat: bool,
}

/// The lines an address asks for.
#[server(prefix = "/console", endpoint = "audit-log", input = GetUrl, output = Json)]
pub async fn list_audit_log(query: String) -> Result<AuditList, CallError> {
    use crate::{
        server::{actor, context},
        state::audit_filters::AuditQuery,
    };
    use model::rules::{
        amends,
        masking::Sensitive as _,
        permission::{Permission, is_allowed},
    };
    let role = actor::allowed(Permission::ReadDeployment)?.role;
    let wanted = AuditQuery::parse(&query).map_err(|error| CallError::Invalid(error.to_string()))?;
    let cx = context::current()?;
    let mut page = access::audit::list(&cx.pool, &wanted.filter, wanted.page).await?;
    page.keep_inside_from(role);
    let labels = access::audit::labels(&cx.pool, &page.items).await?;
    let page = page.map(|entry| {
        let may = |amends: Option<amends::Amends>| {
            amends.is_some_and(|amends| is_allowed(role, amends.permission()))
        };
        AuditLine { may_undo: may(amends::undo(&entry)), may_repeat: may(amends::repeat(&entry)), entry }
    });
    Ok(AuditList { page, labels, as_of: Utc::now() })
}

/// Takes back what a line did.
#[server(prefix = "/console", endpoint = "undo-audit-entry", output = Json)]
pub async fn undo_audit_entry(id: AuditEntryId, back: String) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, redirect},
    };
    use model::rules::permission::Permission;
    redirect::answer(&back, async {
        let actor = actor::allowed(Permission::ReadDeployment)?;
        amended(context::current()?.ledger().undo(&actor, id).await, Flash::Undone)
    })
    .await
}

/// Does again what a line did.
#[server(prefix = "/console", endpoint = "repeat-audit-entry", output = Json)]
pub async fn repeat_audit_entry(id: AuditEntryId, back: String) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, redirect},
    };
    use model::rules::permission::Permission;
    redirect::answer(&back, async {
        let actor = actor::allowed(Permission::ReadDeployment)?;
        amended(context::current()?.ledger().repeat(&actor, id).await, Flash::Repeated)
    })
    .await
}

/// Refusals that have a sentence of their own.
#[cfg(feature = "ssr")]
fn amended(
    answer: Result<AuditEntry, steering::SteeringError>,
    done: crate::components::Flash,
) -> Result<crate::components::Outcome, CallError> {
    use crate::components::Flash;
    use access::AccessError;
    use steering::SteeringError;
    match answer {
        Ok(_) => Ok(done.into()),
        Err(SteeringError::Access(AccessError::Conflict { code: "changed-since", .. })) => {
            Ok(Flash::ChangedSince.into())
        }
        Err(SteeringError::Access(AccessError::Conflict { code: "already-undone", .. })) => {
            Ok(Flash::UndoneBefore.into())
        }
        Err(SteeringError::Access(AccessError::Conflict { code: "nothing-matches", .. })) => {
            Ok(Flash::NothingMatches.into())
        }
        Err(error) => Err(error.into()),
    }
}
