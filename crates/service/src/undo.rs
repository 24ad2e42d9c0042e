//! Undoing or repeating a change from its line of the audit log.

use crate::{Allowed, Headgate, ServiceError};
use access::{AccessError, Follows, api_keys, audit, origin::following, users};
use insight::store::operations::BulkStart;
use model::{
    actor::Actor,
    audit::AuditEntry,
    id::AuditEntryId,
    integration::Integration,
    operation::{BulkDone, BulkOutcome},
    rules::{
        permission::is_allowed,
        undo::{self, UndoAction},
    },
};
use serde::Serialize;
use serde_json::Value;

impl Headgate {
    /// Undoes a line's change. Returns the new line.
    ///
    /// # Errors
    /// No such line; it has no inverse; it was undone already; the object was changed since; errors of the undoing call.
    pub async fn undo(&self, actor: &Actor, id: AuditEntryId) -> Result<AuditEntry, ServiceError> {
        let entry = audit::get(self.access.pool(), id).await?;
        if entry.undone_by.is_some() {
            return Err(conflict("already-undone", "This was undone already."));
        }
        let action = undo::undo(&entry).ok_or_else(|| {
            conflict("no-inverse", "This cannot be undone: the action has no inverse, or the log does not have enough details of it.")
        })?;
        self.refuse_if_changed(actor, &entry, &action).await?;
        following(Follows::Undoes(id), self.run_from_log(actor, action)).await?;
        Ok(audit::following(self.access.pool(), id).await?)
    }

    /// Repeats a line's change. Returns the new line.
    ///
    /// # Errors
    /// No such line; it cannot be repeated; errors of the repeated call.
    pub async fn repeat(&self, actor: &Actor, id: AuditEntryId) -> Result<AuditEntry, ServiceError> {
        let entry = audit::get(self.access.pool(), id).await?;
        let action = undo::repeat(&entry).ok_or_else(|| {
            conflict("not-repeatable", "This cannot be repeated from its line of the audit log.")
        })?;
        following(Follows::Repeats(id), self.run_from_log(actor, action)).await?;
        Ok(audit::following(self.access.pool(), id).await?)
    }

    async fn run_from_log(&self, actor: &Actor, action: UndoAction) -> Result<(), ServiceError> {
        if !is_allowed(actor.role, action.permission()) {
            return Err(ServiceError::beyond_role());
        }
        match action {
            UndoAction::PauseIntegration(id, reason) => {
                self.pause_integration(&Allowed::check(actor)?, id, reason.as_deref()).await?;
            }
            UndoAction::ResumeIntegration(id) => {
                self.resume_integration(&Allowed::check(actor)?, id).await?;
            }
            UndoAction::UpdateIntegration(id, changes) => {
                self.update_integration(&Allowed::check(actor)?, id, &changes).await?;
            }
            UndoAction::UpdateApp(id, changes) => {
                self.update_app(&Allowed::check(actor)?, id, &changes).await?;
            }
            UndoAction::UpdateUser(id, changes) => {
                users::update(&self.access, actor, id, changes).await?;
            }
            UndoAction::RevokeApiKey(id) => {
                api_keys::revoke(&self.access, actor, id).await?;
            }
            UndoAction::StartResync(id, wanted) => {
                let before = self.delivery.resync(actor.scope(), id).await?;
                self.start_resync(actor, before.integration_id, &wanted).await?;
            }
            UndoAction::SteerResync(id, step) => {
                self.steer_resync(actor, id, step).await?;
            }
            UndoAction::RequeueJob(id) => {
                self.requeue_job(actor, id).await?;
            }
            UndoAction::RestoreDeadLetter(id) => {
                self.restore_dead_letter(actor, id).await?;
            }
            UndoAction::Bulk(subject, new) => {
                let start = self.bulk(actor, subject, *new).await?;
                if let BulkStart::Outcome(BulkOutcome::Done(BulkDone { matched: 0, .. })) = start {
                    return Err(conflict(
                        "nothing-matches",
                        "Nothing matches any more, so nothing was changed.",
                    ));
                }
            }
            UndoAction::SteerOperation(id, step) => {
                self.steer_operation(actor, id, step).await?;
            }
        }
        Ok(())
    }

    /// An undo must not overwrite a later change. This is read before the change, outside its transaction: a concurrent change can still be
    /// overwritten, as by any other change, and both are in the log.
    async fn refuse_if_changed(
        &self,
        actor: &Actor,
        entry: &AuditEntry,
        action: &UndoAction,
    ) -> Result<(), ServiceError> {
        let Some(after) = &entry.after else { return Ok(()) };
        let now = match action {
            UndoAction::PauseIntegration(id, _)
            | UndoAction::ResumeIntegration(id)
            | UndoAction::UpdateIntegration(id, _) => {
                shown::<Integration>(&self.delivery.integration(actor.scope(), *id).await?)
            }
            UndoAction::UpdateApp(id, _) => shown(&self.delivery.app(actor.scope(), *id).await?),
            UndoAction::UpdateUser(id, _) => shown(&users::get(&self.access, *id).await?),
            _ => return Ok(()),
        };
        let is_changed = undo::settings(after).iter().any(|(name, value)| now.get(name) != Some(value));
        if is_changed {
            return Err(conflict(
                "changed-since",
                "It was changed again since. Check its current values and change those instead.",
            ));
        }
        Ok(())
    }
}

fn shown<T: Serialize>(what: &T) -> Value {
    serde_json::to_value(what).unwrap_or_default()
}

fn conflict(code: &'static str, detail: &'static str) -> ServiceError {
    AccessError::Conflict { code, detail }.into()
}
