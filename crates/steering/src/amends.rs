//! Changes taken back or made again from their line of the audit log.

use crate::{Steering, SteeringError};
use access::{Access, AccessError, Follows, api_keys, audit, origin::following, users};
use model::{
    actor::Actor,
    audit::AuditEntry,
    id::AuditEntryId,
    integration::Integration,
    operation::{BulkDone, BulkOutcome},
    rules::{
        amends::{self, Amends},
        permission::is_allowed,
    },
};
use queue::store::operations::BulkStart;
use serde::Serialize;
use serde_json::Value;

/// Lines of the audit log that can be acted from.
#[derive(Clone)]
pub struct Ledger {
    steering: Steering,
    access: Access,
}

impl Ledger {
    /// Acts through both: users and keys steer themselves.
    #[must_use]
    pub const fn new(steering: Steering, access: Access) -> Self {
        Self { steering, access }
    }

    /// Takes a line's change back; answers the line that says so.
    ///
    /// # Errors
    /// No such line; it has no inverse; it was taken back; the thing was changed since; whatever the call itself refuses.
    pub async fn undo(&self, actor: &Actor, id: AuditEntryId) -> Result<AuditEntry, SteeringError> {
        let entry = audit::get(self.access.pool(), id).await?;
        if entry.undone_by.is_some() {
            return Err(conflict("already-undone", "This was taken back already."));
        }
        let amends = amends::undo(&entry).ok_or_else(|| {
            conflict("no-inverse", "This cannot be taken back: what it did has no inverse, or the log does not hold enough of it.")
        })?;
        self.refuse_if_changed(actor, &entry, &amends).await?;
        following(Follows::Undoes(id), self.make(actor, amends)).await?;
        Ok(audit::following(self.access.pool(), id).await?)
    }

    /// Makes a line's change again; answers the line that says so.
    ///
    /// # Errors
    /// No such line; nothing to make again; whatever the call itself refuses.
    pub async fn repeat(&self, actor: &Actor, id: AuditEntryId) -> Result<AuditEntry, SteeringError> {
        let entry = audit::get(self.access.pool(), id).await?;
        let amends = amends::repeat(&entry).ok_or_else(|| {
            conflict("not-repeatable", "This cannot be made again from its line of the audit log.")
        })?;
        following(Follows::Repeats(id), self.make(actor, amends)).await?;
        Ok(audit::following(self.access.pool(), id).await?)
    }

    async fn make(&self, actor: &Actor, amends: Amends) -> Result<(), SteeringError> {
        if !is_allowed(actor.role, amends.permission()) {
            return Err(SteeringError::NotAllowed);
        }
        let steering = &self.steering;
        match amends {
            Amends::PauseIntegration(id, reason) => {
                steering.pause_integration(actor, id, reason.as_deref()).await?;
            }
            Amends::ResumeIntegration(id) => {
                steering.resume_integration(actor, id).await?;
            }
            Amends::UpdateIntegration(id, changes) => {
                steering.update_integration(actor, id, &changes).await?;
            }
            Amends::UpdateApp(id, changes) => {
                steering.update_app(actor, id, &changes).await?;
            }
            Amends::UpdateUser(id, changes) => {
                users::update(&self.access, actor, id, changes).await?;
            }
            Amends::RevokeApiKey(id) => {
                api_keys::revoke(&self.access, actor, id).await?;
            }
            Amends::StartResync(id, wanted) => {
                let before = steering.delivery.resync(actor.scope(), id).await?;
                steering.start_resync(actor, before.integration_id, &wanted).await?;
            }
            Amends::SteerResync(id, step) => {
                steering.steer_resync(actor, id, step).await?;
            }
            Amends::RequeueJob(id) => {
                steering.requeue_job(actor, id).await?;
            }
            Amends::RestoreDeadLetter(id) => {
                steering.restore_dead_letter(actor, id).await?;
            }
            Amends::Bulk(subject, new) => {
                let start = steering.bulk(actor, subject, *new).await?;
                if let BulkStart::Outcome(BulkOutcome::Done(BulkDone { matched: 0, .. })) = start {
                    return Err(conflict(
                        "nothing-matches",
                        "Nothing matches any more: there is nothing to do.",
                    ));
                }
            }
            Amends::SteerOperation(id, step) => {
                steering.steer_operation(actor, id, step).await?;
            }
        }
        Ok(())
    }

    /// What was changed since belongs to whoever changed it. Read before the change is made: somebody who changes the same in this very
    /// moment is overwritten, as by any other change, and both stand in the log.
    async fn refuse_if_changed(
        &self,
        actor: &Actor,
        entry: &AuditEntry,
        amends: &Amends,
    ) -> Result<(), SteeringError> {
        let Some(after) = &entry.after else { return Ok(()) };
        let now = match amends {
            Amends::PauseIntegration(id, _)
            | Amends::ResumeIntegration(id)
            | Amends::UpdateIntegration(id, _) => {
                shown::<Integration>(&self.steering.delivery.integration(actor.scope(), *id).await?)
            }
            Amends::UpdateApp(id, _) => shown(&self.steering.delivery.app(actor.scope(), *id).await?),
            Amends::UpdateUser(id, _) => shown(&users::get(&self.access, *id).await?),
            _ => return Ok(()),
        };
        let is_changed = amends::settings(after).iter().any(|(name, value)| now.get(name) != Some(value));
        if is_changed {
            return Err(conflict(
                "changed-since",
                "It was changed again since: look at what it is now, and change that instead.",
            ));
        }
        Ok(())
    }
}

fn shown<T: Serialize>(what: &T) -> Value {
    serde_json::to_value(what).unwrap_or_default()
}

fn conflict(code: &'static str, detail: &'static str) -> SteeringError {
    AccessError::Conflict { code, detail }.into()
}
