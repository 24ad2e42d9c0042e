//! Bulk actions on jobs and dead letters.

use crate::{Allowed, Headgate, ServiceError, masking::refuse_internal_fields, permission};
use access::audit::Entry;
use insight::store::operations;
use model::{
    actor::Actor,
    filter::JobFilter,
    operation::{BulkAction, BulkOutcome, BulkStart, BulkSubject, DryRun, NewBulk},
    rules::permission::Permission,
    views::bulk::BulkPreview,
};
use serde_json::json;

impl Headgate {
    /// Counts, runs or starts a bulk action within the actor's scope.
    ///
    /// # Errors
    /// Faults by field; `NotAllowed` for a purge without its permission.
    pub async fn bulk(
        &self,
        actor: &Allowed<permission::SteerJobs>,
        subject: BulkSubject,
        new: NewBulk,
    ) -> Result<BulkStart, ServiceError> {
        check(actor, subject, &new)?;
        if new.dry_run {
            return Ok(BulkStart::DryRun(self.count_bulk(actor, subject, new).await?));
        }
        Ok(BulkStart::Outcome(self.start_bulk(actor, subject, new).await?))
    }

    /// What a bulk action would change, for the question before it.
    ///
    /// # Errors
    /// As [`Self::bulk`].
    pub async fn bulk_preview(
        &self,
        actor: &Allowed<permission::SteerJobs>,
        subject: BulkSubject,
        new: NewBulk,
    ) -> Result<BulkPreview, ServiceError> {
        check(actor, subject, &new)?;
        let run = self.count_bulk(actor, subject, new).await?;
        let counted = run.breakdown.iter().map(|part| part.integration_id);
        let names = self.names(actor.scope(), counted, &JobFilter::default()).await?;
        Ok(BulkPreview { run, names })
    }

    /// Runs or starts a bulk action that was confirmed with a count. `None`: more match by now, and nothing was changed.
    ///
    /// # Errors
    /// As [`Self::bulk`].
    pub async fn confirmed_bulk(
        &self,
        actor: &Allowed<permission::SteerJobs>,
        subject: BulkSubject,
        new: NewBulk,
        confirmed: Option<i64>,
    ) -> Result<Option<BulkOutcome>, ServiceError> {
        check(actor, subject, &new)?;
        if let Some(confirmed) = confirmed {
            let now = self.count_bulk(actor, subject, new.clone()).await?;
            if now.matched > confirmed {
                return Ok(None);
            }
        }
        self.start_bulk(actor, subject, new).await.map(Some)
    }

    async fn count_bulk(
        &self,
        actor: &Actor,
        subject: BulkSubject,
        new: NewBulk,
    ) -> Result<DryRun, ServiceError> {
        let new = self.restricted_bulk(actor, new).await?;
        let prepared = operations::prepare(self.pool(), actor, subject, new).await?;
        Ok(prepared.dry_run(self.pool()).await?)
    }

    async fn start_bulk(
        &self,
        actor: &Actor,
        subject: BulkSubject,
        new: NewBulk,
    ) -> Result<BulkOutcome, ServiceError> {
        let action = audited(subject, new.action);
        let before = serde_json::to_value(&new).ok();
        let new = self.restricted_bulk(actor, new).await?;
        let prepared = operations::prepare(self.pool(), actor, subject, new).await?;
        let id = self
            .change(actor, async |mut tx| {
                let id = prepared.store(&mut tx).await?;
                let mut entry = Entry::new(action).of_app(actor.app_id);
                entry.before.clone_from(&before);
                entry.after = Some(json!({"operation_id": id, "matched": prepared.matched()}));
                entry.object_id = id.map(|id| id.to_string());
                Ok((tx, id, entry))
            })
            .await?;
        let outcome = operations::outcome(self.pool(), actor, &prepared, id).await?;
        self.delivery.wake();
        Ok(outcome)
    }

    /// The same with a filter that the actor may use.
    async fn restricted_bulk(&self, actor: &Actor, mut new: NewBulk) -> Result<NewBulk, ServiceError> {
        if let Some(filter) = &mut new.filter {
            *filter = self.delivery.filter_for(actor, filter, "/filter/payload/").await?;
        }
        Ok(new)
    }
}

fn check(
    actor: &Allowed<permission::SteerJobs>,
    subject: BulkSubject,
    new: &NewBulk,
) -> Result<(), ServiceError> {
    new.check(subject)?;
    if let Some(filter) = &new.filter {
        refuse_internal_fields(filter, "/filter/")?;
    }
    if new.action == BulkAction::Purge && !actor.may(Permission::Purge) {
        return Err(ServiceError::NotAllowed(format!("The role {} may not purge.", actor.role)));
    }
    Ok(())
}

fn audited(subject: BulkSubject, action: BulkAction) -> &'static str {
    match (subject, action) {
        (BulkSubject::Jobs, BulkAction::Requeue) => "job.bulk_requeue",
        (BulkSubject::Jobs, _) => "job.bulk_cancel",
        (_, BulkAction::Purge) => "dead_letter.bulk_purge",
        _ => "dead_letter.bulk_requeue",
    }
}
