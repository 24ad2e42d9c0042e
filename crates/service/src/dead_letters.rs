//! Single dead letters: read, requeue, purge, restore.

use crate::{Allowed, Headgate, ServiceError, permission};
use access::audit::Entry;
use model::{dead_letter::DeadLetter, id::DeadLetterId, job::Job};
use queue::store::dead_letters;
use serde_json::json;

impl Headgate {
    /// A dead letter with its failure history.
    ///
    /// # Errors
    /// No such dead letter.
    pub async fn dead_letter(
        &self,
        actor: &Allowed<permission::Read>,
        id: DeadLetterId,
    ) -> Result<DeadLetter, ServiceError> {
        let letter = insight::store::dead_letters::get(self.pool(), actor.scope(), id).await?;
        self.shown(actor, letter).await
    }

    /// Puts its job back into the queue, with the same id and all its attempts.
    ///
    /// # Errors
    /// No such dead letter.
    pub async fn requeue_dead_letter(
        &self,
        actor: &Allowed<permission::SteerJobs>,
        id: DeadLetterId,
    ) -> Result<Job, ServiceError> {
        let job = self
            .change(actor, async |mut tx| {
                let job = dead_letters::requeue(&mut tx, actor.scope(), id).await?;
                let entry = Entry::new("dead_letter.requeue").about(id).of_app(job.app_id);
                Ok((tx, job, entry))
            })
            .await?;
        self.delivery.wake();
        self.shown(actor, job).await
    }

    /// Moves it to the bin, where it is deleted after 24 hours. The audit line has its error, with secrets masked.
    ///
    /// # Errors
    /// No such dead letter.
    pub async fn purge_dead_letter(
        &self,
        actor: &Allowed<permission::Purge>,
        id: DeadLetterId,
    ) -> Result<(), ServiceError> {
        let before = insight::store::dead_letters::get(self.pool(), actor.scope(), id).await?;
        let before = self.masked(before).await?;
        let kept = json!({"job_id": before.job_id, "error_message": before.error_message});
        self.change(actor, async |mut tx| {
            dead_letters::purge(&mut tx, actor.scope(), id).await?;
            Ok((tx, (), Entry::new("dead_letter.purge").about(id).of_app(before.app_id).without(&kept)))
        })
        .await
    }

    /// Restores a purged one from the bin.
    ///
    /// # Errors
    /// Not in the bin, or its integration is deleted.
    pub async fn restore_dead_letter(
        &self,
        actor: &Allowed<permission::SteerJobs>,
        id: DeadLetterId,
    ) -> Result<DeadLetter, ServiceError> {
        self.change(actor, async |mut tx| {
            dead_letters::restore(&mut tx, actor.scope(), id).await?;
            Ok((tx, (), Entry::new("dead_letter.restore").about(id).of_app(actor.app_id)))
        })
        .await?;
        let letter = insight::store::dead_letters::get(self.pool(), actor.scope(), id).await?;
        self.shown(actor, letter).await
    }
}
