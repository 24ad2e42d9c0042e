//! Reading the audit log.

use crate::{Allowed, Headgate, ServiceError, permission};
use access::audit;
use chrono::Utc;
use model::audit::{AuditEntry, AuditFilter};
use model::id::AuditEntryId;
use model::page::{Page, PageRequest};
use model::rules::permission::Permission;
use model::rules::undo::{self, UndoAction};
use model::views::audit::{AuditLine, AuditList};

impl Headgate {
    /// A page of the log, newest first, without the internals that the actor may not see.
    pub async fn audit_log(
        &self,
        actor: &Allowed<permission::ReadDeployment>,
        filter: &AuditFilter,
        page: PageRequest,
    ) -> Result<Page<AuditEntry>, ServiceError> {
        let page = audit::list(&self.lists, filter, page).await?;
        self.shown(actor, page).await
    }

    /// The page of the log: names of the objects, and what the actor may undo or repeat.
    pub async fn audit_list(
        &self,
        actor: &Allowed<permission::ReadDeployment>,
        filter: &AuditFilter,
        page: PageRequest,
    ) -> Result<AuditList, ServiceError> {
        let page = self.audit_log(actor, filter, page).await?;
        let labels = audit::labels(&self.lists, &page.items).await?;
        let may = |action: Option<UndoAction>| {
            actor.may(Permission::Configure) && action.is_some_and(|action| actor.may(action.permission()))
        };
        let page = page.map(|entry| AuditLine {
            may_undo: may(undo::undo(&entry)),
            may_repeat: may(undo::repeat(&entry)),
            entry,
        });
        Ok(AuditList { page, labels, as_of: Utc::now() })
    }

    /// A line of the log.
    ///
    /// # Errors
    /// No such line.
    pub async fn audit_entry(
        &self,
        actor: &Allowed<permission::ReadDeployment>,
        id: AuditEntryId,
    ) -> Result<AuditEntry, ServiceError> {
        let entry = audit::get(self.access.pool(), id).await?;
        self.shown(actor, entry).await
    }
}
