//! Undoing or repeating a change from its line of the audit log.

use crate::{Allowed, Headgate, Needs, ServiceError, permission};
use access::{AccessError, Follows, audit, origin::following, users};
use model::actor::Actor;
use model::audit::AuditEntry;
use model::id::AuditEntryId;
use model::integration::Integration;
use model::operation::{BulkAction, BulkDone, BulkOutcome, BulkStart};
use model::rules::undo::{self, UndoAction};
use serde::Serialize;
use serde_json::Value;

impl Headgate {
    /// Undoes a line's change. Returns the new line.
    ///
    /// # Errors
    /// No such line; it has no inverse; it was undone already; the object was changed since; `NotAllowed` and errors of the undoing call.
    pub async fn undo(
        &self,
        actor: &Allowed<permission::Configure>,
        id: AuditEntryId,
    ) -> Result<AuditEntry, ServiceError> {
        let entry = self.not_undone(id).await?;
        let action = undo::undo(&entry).ok_or_else(|| {
            conflict("no-inverse", "This cannot be undone: the action has no inverse, or the log does not have enough details of it.")
        })?;
        if let Err(error) = self.run_undo(actor, &entry, action).await {
            // Somebody else may have undone it since the line was read, and the error may be a consequence of that.
            self.not_undone(id).await?;
            return Err(error);
        }
        Ok(audit::following(self.access.pool(), id).await?)
    }

    /// A line that nobody has undone.
    async fn not_undone(&self, id: AuditEntryId) -> Result<AuditEntry, ServiceError> {
        let entry = audit::get(self.access.pool(), id).await?;
        if entry.undone_by.is_some() {
            return Err(AccessError::already_undone().into());
        }
        Ok(entry)
    }

    async fn run_undo(
        &self,
        actor: &Actor,
        entry: &AuditEntry,
        action: UndoAction,
    ) -> Result<(), ServiceError> {
        self.refuse_if_changed(actor, entry, &action).await?;
        following(Follows::Undoes(entry.id), self.run_from_log(actor, action)).await
    }

    /// Repeats a line's change. Returns the new line.
    ///
    /// # Errors
    /// No such line; it cannot be repeated; `NotAllowed` and errors of the repeated call.
    pub async fn repeat(
        &self,
        actor: &Allowed<permission::Configure>,
        id: AuditEntryId,
    ) -> Result<AuditEntry, ServiceError> {
        let entry = audit::get(self.access.pool(), id).await?;
        let action = undo::repeat(&entry).ok_or_else(|| {
            conflict("not-repeatable", "This cannot be repeated from its line of the audit log.")
        })?;
        following(Follows::Repeats(id), self.run_from_log(actor, action)).await?;
        Ok(audit::following(self.access.pool(), id).await?)
    }

    async fn run_from_log(&self, actor: &Actor, action: UndoAction) -> Result<(), ServiceError> {
        use permission::{Configure, ManageAccess, Purge, Resync, SteerJobs};
        match action {
            UndoAction::PauseIntegration(id, reason) => {
                let actor = &within_role::<Configure>(actor)?;
                self.pause_integration(actor, id, reason.as_deref()).await?;
            }
            UndoAction::ResumeIntegration(id) => {
                let actor = &within_role::<Configure>(actor)?;
                self.resume_integration(actor, id).await?;
            }
            UndoAction::UpdateIntegration(id, changes) => {
                let actor = &within_role::<Configure>(actor)?;
                self.update_integration(actor, id, &changes).await?;
            }
            UndoAction::UpdateApp(id, changes) => {
                let actor = &within_role::<Configure>(actor)?;
                self.update_app(actor, id, &changes).await?;
            }
            UndoAction::UpdateUser(id, changes) => {
                let actor = &within_role::<ManageAccess>(actor)?;
                self.update_user(actor, id, changes).await?;
            }
            UndoAction::RevokeApiKey(id) => {
                let actor = &within_role::<ManageAccess>(actor)?;
                self.revoke_api_key(actor, id).await?.ok_or_else(changed_since)?;
            }
            UndoAction::StartResync(id, wanted) => {
                let actor = &within_role::<Resync>(actor)?;
                let before = self.delivery.resync(actor.scope(), id).await?;
                self.start_resync(actor, before.integration_id, &wanted).await?;
            }
            UndoAction::SteerResync(id, step) => {
                let actor = &within_role::<Resync>(actor)?;
                self.steer_resync(actor, id, step).await?;
            }
            UndoAction::RequeueJob(id) => {
                let actor = &within_role::<SteerJobs>(actor)?;
                self.requeue_job(actor, id).await?;
            }
            UndoAction::RestoreDeadLetter(id) => {
                let actor = &within_role::<SteerJobs>(actor)?;
                self.restore_dead_letter(actor, id).await?;
            }
            UndoAction::Bulk(subject, new) => {
                if new.action == BulkAction::Purge {
                    within_role::<Purge>(actor)?;
                }
                let actor = &within_role::<SteerJobs>(actor)?;
                let start = self.bulk(actor, subject, *new).await?;
                if let BulkStart::Outcome(BulkOutcome::Done(BulkDone { matched: 0, .. })) = start {
                    return Err(conflict(
                        "nothing-matches",
                        "Nothing matches any more, so nothing was changed.",
                    ));
                }
            }
            UndoAction::SteerOperation(id, step) => {
                let actor = &within_role::<SteerJobs>(actor)?;
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
            return Err(changed_since());
        }
        Ok(())
    }
}

/// The actor with a permission that the line decides.
fn within_role<P: Needs>(actor: &Actor) -> Result<Allowed<P>, ServiceError> {
    Allowed::check(actor).map_err(|_| ServiceError::beyond_role())
}

fn shown<T: Serialize>(what: &T) -> Value {
    serde_json::to_value(what).unwrap_or_default()
}

fn changed_since() -> ServiceError {
    conflict(
        "changed-since",
        "It was changed again since. Check its current values and change those instead.",
    )
}

fn conflict(code: &'static str, detail: &'static str) -> ServiceError {
    AccessError::Conflict { code, detail }.into()
}
