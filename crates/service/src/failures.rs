//! Failure groups: read, retry, snooze, mark as fixed, publish a note for the affected apps.

use crate::{Allowed, Headgate, ServiceError, permission};
use access::audit::Entry;
use chrono::Utc;
use insight::store::failures;
use model::failure::{
    CauseId, FailureDetail, FailureFilter, FailureGroup, FailureNoteResult, FailureStep, RetryFailure,
    SetFailureNote,
};
use model::filter::JobFilter;
use model::operation::{BulkAction, BulkStart, BulkSubject, NewBulk};
use model::page::{Page, PageRequest};
use model::views::failures::FailureList;

impl Headgate {
    /// Failure groups, those with the most jobs first.
    pub async fn failures(
        &self,
        actor: &Allowed<permission::Read>,
        filter: &FailureFilter,
        page: PageRequest,
    ) -> Result<Page<FailureGroup>, ServiceError> {
        self.shown(actor, failures::list(&self.lists, actor.scope(), filter, page).await?).await
    }

    /// A group and the integrations it affects, with the filter's share of its numbers.
    ///
    /// # Errors
    /// No such group.
    pub async fn failure(
        &self,
        actor: &Allowed<permission::Read>,
        cause: CauseId,
        filter: &FailureFilter,
    ) -> Result<FailureDetail, ServiceError> {
        self.shown(actor, failures::detail(self.pool(), actor.scope(), filter, cause).await?).await
    }

    /// The console's page of failures. An opened group that no longer exists is left out.
    pub async fn failure_list(
        &self,
        actor: &Allowed<permission::OpenConsole>,
        filter: &FailureFilter,
        page: PageRequest,
        opened: Option<CauseId>,
    ) -> Result<FailureList, ServiceError> {
        let scope = actor.scope();
        let page = self.masked(failures::list(&self.lists, scope, filter, page).await?).await?;
        let open = failures::count_open(&self.lists, scope, filter).await?;
        let group = match opened {
            Some(cause) => match failures::detail(&self.lists, scope, filter, cause).await {
                Err(queue::QueueError::NotFound) => None,
                found => Some(self.masked(found?).await?),
            },
            None => None,
        };
        let choices = self.choices(filter.app_id, filter.integration_id).await?;
        Ok(FailureList { page, open, group, choices, as_of: Utc::now() })
    }

    /// Counts or requeues all jobs of a group, both waiting for a retry and dead-lettered, as a bulk action.
    ///
    /// # Errors
    /// Faults by field.
    pub async fn retry_failure(
        &self,
        actor: &Allowed<permission::SteerJobs>,
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
    /// No such group; `NotAllowed`; faults of the time.
    pub async fn mark_failure(
        &self,
        actor: &Allowed<permission::SteerJobs>,
        cause: CauseId,
        step: FailureStep,
    ) -> Result<FailureGroup, ServiceError> {
        step.check(Utc::now())?;
        if actor.scope().app_id().is_some() {
            return Err(ServiceError::beyond_role());
        }
        let action = match step {
            FailureStep::Snooze(_) => "failure.snooze",
            FailureStep::Fix => "failure.fix",
            FailureStep::Reopen => "failure.reopen",
        };
        self.change(actor, async |mut tx| {
            let (before, after) = failures::mark(&mut tx, cause, step).await?;
            Ok((tx, (), Entry::new(action).about(cause).changed(&before, &after)))
        })
        .await?;
        let group = failures::get(self.pool(), actor.scope(), &FailureFilter::default(), cause).await?;
        self.shown(actor, group).await
    }

    /// Publishes a note for the affected apps, or removes it.
    ///
    /// # Errors
    /// No integration in scope is affected.
    pub async fn set_failure_note(
        &self,
        actor: &Allowed<permission::SteerJobs>,
        cause: CauseId,
        note: SetFailureNote,
    ) -> Result<FailureNoteResult, ServiceError> {
        note.check()?;
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
