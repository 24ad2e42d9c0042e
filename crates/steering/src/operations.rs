//! Bulk actions on jobs and dead letters, and the operations that large ones are.

use crate::{Steering, SteeringError};
use access::audit::Entry;
use model::{
    actor::Actor,
    id::OperationId,
    operation::{BulkAction, BulkOutcome, BulkSubject, NewBulk, Operation, OperationStep},
};
use queue::store::operations::{self, BulkStart};

impl Steering {
    /// Counts, does or begins a bulk action within the actor's scope.
    ///
    /// # Errors
    /// Faults by field.
    pub async fn bulk(
        &self,
        actor: &Actor,
        subject: BulkSubject,
        new: NewBulk,
    ) -> Result<BulkStart, SteeringError> {
        let action = match (subject, new.action) {
            (BulkSubject::Jobs, BulkAction::Requeue) => "job.bulk_requeue",
            (BulkSubject::Jobs, _) => "job.bulk_cancel",
            (BulkSubject::DeadLetters, BulkAction::Purge) => "dead_letter.bulk_purge",
            (BulkSubject::DeadLetters, _) => "dead_letter.bulk_requeue",
        };
        let mut entry = Entry::new(action).of_app(actor.app_id);
        entry.before = serde_json::to_value(&new).ok();
        let start = operations::start(self.pool(), actor, subject, new).await?;
        if let BulkStart::Outcome(outcome) = &start {
            entry.after = serde_json::to_value(outcome).ok();
            if let BulkOutcome::Started { operation_id, .. } = outcome {
                entry = entry.about(operation_id);
            }
            self.done(actor, entry).await;
            self.delivery.wake();
        }
        Ok(start)
    }

    /// Pauses, resumes, aborts or undoes one.
    ///
    /// # Errors
    /// No such operation; its state does not allow it.
    pub async fn steer_operation(
        &self,
        actor: &Actor,
        id: OperationId,
        step: OperationStep,
    ) -> Result<Operation, SteeringError> {
        let (pool, scope) = (self.pool(), actor.scope());
        let (action, operation) = match step {
            OperationStep::Pause => ("operation.pause", operations::pause(pool, scope, id).await?),
            OperationStep::Resume => ("operation.resume", operations::resume(pool, scope, id).await?),
            OperationStep::Abort => ("operation.abort", operations::abort(pool, scope, id).await?),
            OperationStep::Undo => ("operation.undo", operations::undo(pool, scope, id).await?),
        };
        self.done(actor, Entry::new(action).about(id)).await;
        Ok(operation)
    }
}
