//! Failure groups: retry, snooze, mark as fixed, publish a note for the affected apps.

use crate::{Headgate, ServiceError};
use access::audit::Entry;
use insight::store::{
    failures::{self, Mark},
    operations::BulkStart,
};
use model::{
    actor::Actor,
    failure::{CauseId, FailureNoteResult, RetryFailure, SetFailureNote},
    filter::JobFilter,
    operation::{BulkAction, BulkSubject, NewBulk},
};

impl Headgate {
    /// Counts or requeues all jobs of a group, both waiting for a retry and dead-lettered, as a bulk action.
    ///
    /// # Errors
    /// Faults by field.
    pub async fn retry_failure(
        &self,
        actor: &Actor,
        cause: CauseId,
        retry: RetryFailure,
    ) -> Result<BulkStart, ServiceError> {
        let filter = JobFilter {
            fingerprint: Some(cause.to_string()),
            app_id: retry.app_id,
            integration_id: retry.integration_id,
            ..JobFilter::default()
        };
        let new = NewBulk {
            action: BulkAction::Requeue,
            ids: None,
            filter: Some(filter),
            dry_run: retry.dry_run,
            rate_per_second: retry.rate_per_second,
            hold_seconds: retry.hold_seconds,
            reason: retry.reason,
        };
        self.bulk(actor, BulkSubject::Jobs, new).await
    }

    /// Snoozes a group, marks it as fixed, or reopens it. Groups span all apps, so an actor of one app may not.
    ///
    /// # Errors
    /// No such group; `NotAllowed`.
    pub async fn mark_failure(&self, actor: &Actor, cause: CauseId, mark: Mark) -> Result<(), ServiceError> {
        if actor.scope().app_id().is_some() {
            return Err(ServiceError::beyond_role());
        }
        let action = match mark {
            Mark::Snooze(_) => "failure.snooze",
            Mark::Fix => "failure.fix",
            Mark::Reopen => "failure.reopen",
        };
        self.change(actor, async |mut tx| {
            let (before, after) = failures::mark(&mut tx, cause, mark).await?;
            Ok((tx, (), Entry::new(action).about(cause).changed(&before, &after)))
        })
        .await
    }

    /// Publishes a note for the affected apps, or removes it.
    ///
    /// # Errors
    /// No integration in scope is affected.
    pub async fn set_failure_note(
        &self,
        actor: &Actor,
        cause: CauseId,
        note: SetFailureNote,
    ) -> Result<FailureNoteResult, ServiceError> {
        note.check().map_err(queue::QueueError::from)?;
        let note = &note;
        self.change(actor, async |mut tx| {
            let integrations = failures::set_note(&mut tx, actor.scope(), cause, note).await?;
            let result = FailureNoteResult { integrations };
            let entry =
                Entry::new("failure.tell").about(cause).of_app(note.app_id.or(actor.app_id)).with(&note);
            Ok((tx, result, entry))
        })
        .await
    }
}
