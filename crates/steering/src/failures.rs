//! Groups of failures: tried again, put aside, said to be mended, told to customers.

use crate::{Steering, SteeringError};
use access::audit::Entry;
use model::{
    actor::Actor,
    failure::{CauseId, FailureTold, RetryFailure, TellFailure},
    filter::JobFilter,
    operation::{BulkAction, BulkSubject, NewBulk},
};
use queue::store::{
    failures::{self, Mark},
    operations::BulkStart,
};

impl Steering {
    /// Counts, or requeues, everything that waits or was given up by this cause: a bulk action as any other.
    ///
    /// # Errors
    /// Faults by field.
    pub async fn retry_failure(
        &self,
        actor: &Actor,
        cause: CauseId,
        retry: RetryFailure,
    ) -> Result<BulkStart, SteeringError> {
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

    /// Puts a group aside, says that it is mended, or neither any more. A group is the deployment's: an actor of one app may not.
    ///
    /// # Errors
    /// No such group; not for this actor.
    pub async fn mark_failure(&self, actor: &Actor, cause: CauseId, mark: Mark) -> Result<(), SteeringError> {
        if actor.scope().app_id().is_some() {
            return Err(SteeringError::NotAllowed);
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

    /// Tells the customers of those who are affected, or takes back what they were told.
    ///
    /// # Errors
    /// Nobody in scope is affected.
    pub async fn tell_failure(
        &self,
        actor: &Actor,
        cause: CauseId,
        tell: TellFailure,
    ) -> Result<FailureTold, SteeringError> {
        tell.check().map_err(queue::QueueError::from)?;
        let tell = &tell;
        self.change(actor, async |mut tx| {
            let integrations = failures::tell(&mut tx, actor.scope(), cause, tell).await?;
            let told = FailureTold { integrations };
            let entry =
                Entry::new("failure.tell").about(cause).of_app(tell.app_id.or(actor.app_id)).with(&tell);
            Ok((tx, told, entry))
        })
        .await
    }
}
