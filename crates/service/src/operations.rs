//! Bulk actions on jobs and dead letters, and their operations.

use crate::{Headgate, ServiceError};
use access::audit::Entry;
use insight::store::operations::{self, BulkStart};
use model::{
    actor::Actor,
    id::OperationId,
    operation::{BulkAction, BulkSubject, NewBulk, Operation, OperationStep},
};
use serde_json::json;

impl Headgate {
    /// Counts, runs or starts a bulk action within the actor's scope.
    ///
    /// # Errors
    /// Faults by field.
    pub async fn bulk(
        &self,
        actor: &Actor,
        subject: BulkSubject,
        mut new: NewBulk,
    ) -> Result<BulkStart, ServiceError> {
        let action = match (subject, new.action) {
            (BulkSubject::Jobs, BulkAction::Requeue) => "job.bulk_requeue",
            (BulkSubject::Jobs, _) => "job.bulk_cancel",
            (_, BulkAction::Purge) => "dead_letter.bulk_purge",
            _ => "dead_letter.bulk_requeue",
        };
        let is_dry = new.dry_run;
        let before = serde_json::to_value(&new).ok();
        if let Some(filter) = &mut new.filter {
            *filter = self.delivery.filter_for(actor, filter, "/filter/payload/").await?;
        }
        let asked = operations::prepare(self.pool(), actor, subject, new).await?;
        if is_dry {
            return Ok(BulkStart::DryRun(asked.dry_run(self.pool()).await?));
        }
        let id = self
            .change(actor, async |mut tx| {
                let id = asked.store(&mut tx).await?;
                let mut entry = Entry::new(action).of_app(actor.app_id);
                entry.before.clone_from(&before);
                entry.after = Some(json!({"operation_id": id, "matched": asked.matched()}));
                entry.object_id = id.map(|id| id.to_string());
                Ok((tx, id, entry))
            })
            .await?;
        let outcome = operations::outcome(self.pool(), actor, &asked, id).await?;
        self.delivery.wake();
        Ok(BulkStart::Outcome(outcome))
    }

    /// Pauses, resumes, aborts or undoes an operation.
    ///
    /// # Errors
    /// No such operation; its state does not allow it.
    pub async fn steer_operation(
        &self,
        actor: &Actor,
        id: OperationId,
        step: OperationStep,
    ) -> Result<Operation, ServiceError> {
        let scope = actor.scope();
        let operation = self
            .change(actor, async |mut tx| {
                let (action, operation) = match step {
                    OperationStep::Pause => ("operation.pause", operations::pause(&mut tx, scope, id).await?),
                    OperationStep::Resume => {
                        ("operation.resume", operations::resume(&mut tx, scope, id).await?)
                    }
                    OperationStep::Abort => ("operation.abort", operations::abort(&mut tx, scope, id).await?),
                    OperationStep::Undo => ("operation.undo", operations::undo(&mut tx, actor, id).await?),
                };
                let entry = Entry::new(action).about(id).of_app(actor.app_id);
                let entry = match operation.undone_by {
                    Some(by) => entry.with(&json!({"undone_by": by, "changed": operation.changed})),
                    None => entry,
                };
                Ok((tx, operation, entry))
            })
            .await?;
        self.delivery.wake();
        Ok(operation)
    }
}
