//! Bulk actions on jobs and dead letters.

use crate::{Allowed, Headgate, ServiceError, masking::refuse_internal_fields, permission};
use access::audit::Entry;
use insight::store::operations::{self, PreparedBulk};
use model::actor::Actor;
use model::filter::JobFilter;
use model::operation::{BulkAction, BulkOutcome, BulkStart, BulkSubject, NewBulk};
use model::rules::permission::Permission;
use model::views::bulk::BulkPreview;
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
        let is_dry = new.dry_run;
        let (prepared, entry) = self.prepare_bulk(actor, subject, new).await?;
        if is_dry {
            return Ok(BulkStart::DryRun(prepared.dry_run(self.pool()).await?));
        }
        Ok(BulkStart::Outcome(self.start_bulk(actor, &prepared, &entry).await?))
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
        let (prepared, _) = self.prepare_bulk(actor, subject, new).await?;
        let run = prepared.dry_run(self.pool()).await?;
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
        let (prepared, entry) = self.prepare_bulk(actor, subject, new).await?;
        if confirmed.is_some_and(|confirmed| prepared.matched() > confirmed) {
            return Ok(None);
        }
        self.start_bulk(actor, &prepared, &entry).await.map(Some)
    }

    /// Counts the jobs, by a filter that the actor may use; with the line of the audit log for the start.
    async fn prepare_bulk(
        &self,
        actor: &Allowed<permission::SteerJobs>,
        subject: BulkSubject,
        mut new: NewBulk,
    ) -> Result<(PreparedBulk, Entry), ServiceError> {
        check(actor, subject, &new)?;
        let mut entry = Entry::new(audited(subject, new.action)).of_app(actor.app_id);
        entry.before = serde_json::to_value(&new).ok();
        if let Some(filter) = &mut new.filter {
            *filter = self.delivery.filter_for(actor, filter, "/filter/payload/").await?;
        }
        let prepared = operations::prepare(self.pool(), actor, subject, new).await?;
        Ok((prepared, entry))
    }

    async fn start_bulk(
        &self,
        actor: &Actor,
        prepared: &PreparedBulk,
        entry: &Entry,
    ) -> Result<BulkOutcome, ServiceError> {
        let id = self
            .change(actor, async |mut tx| {
                let id = prepared.store(&mut tx).await?;
                let after = Some(json!({"operation_id": id, "matched": prepared.matched()}));
                let object_id = id.map(|id| id.to_string());
                Ok((tx, id, Entry { after, object_id, ..entry.clone() }))
            })
            .await?;
        let outcome = operations::outcome(self.pool(), actor, prepared, id).await?;
        self.delivery.wake();
        Ok(outcome)
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
