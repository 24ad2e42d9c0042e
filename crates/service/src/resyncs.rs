//! Re-syncs: read, start, pause, resume, cancel.

use crate::{Allowed, Headgate, ServiceError, permission};
use access::audit::Entry;
use chrono::Utc;
use model::filter::JobFilter;
use model::id::{IntegrationId, ResyncId};
use model::page::{Page, PageRequest};
use model::resync::{NewResync, Resync, ResyncStarted, ResyncStep};
use model::views::resyncs::ResyncList;

impl Headgate {
    /// Re-syncs of all integrations or of one, newest first.
    pub async fn resyncs(
        &self,
        actor: &Allowed<permission::Read>,
        integration_id: Option<IntegrationId>,
        page: PageRequest,
    ) -> Result<Page<Resync>, ServiceError> {
        let page = self.delivery_lists().resyncs(actor.scope(), integration_id, page).await?;
        self.shown(actor, page).await
    }

    /// The console's page of re-syncs. The filter's integration narrows it; its app is named.
    pub async fn resync_list(
        &self,
        actor: &Allowed<permission::OpenConsole>,
        filter: &JobFilter,
        page: PageRequest,
    ) -> Result<ResyncList, ServiceError> {
        let page = self.resyncs(&actor.also()?, filter.integration_id, page).await?;
        let rows = page.items.iter().map(|resync| resync.integration_id);
        let names = self.names(actor.scope(), rows, filter).await?;
        Ok(ResyncList { page, names, as_of: Utc::now() })
    }

    /// A re-sync and its progress.
    ///
    /// # Errors
    /// No such re-sync.
    pub async fn resync(
        &self,
        actor: &Allowed<permission::Read>,
        id: ResyncId,
    ) -> Result<Resync, ServiceError> {
        self.shown(actor, self.delivery.resync(actor.scope(), id).await?).await
    }

    /// Sends an integration all its records again, or a part of them.
    ///
    /// # Errors
    /// No such integration; a re-sync of the same scope is running; it is too soon after the last one.
    pub async fn start_resync(
        &self,
        actor: &Allowed<permission::Resync>,
        id: IntegrationId,
        wanted: &NewResync,
    ) -> Result<ResyncStarted, ServiceError> {
        let app_id = self.delivery.integration(actor.scope(), id).await?.app_id;
        let started = self
            .change(actor, async |mut tx| {
                let new = wanted.clone();
                let started =
                    self.delivery.start_resync(&mut tx, actor.scope(), id, new, &actor.name).await?;
                let entry = Entry::new("resync.start").about(started.resync_id).of_app(app_id).with(wanted);
                Ok((tx, started, entry))
            })
            .await?;
        self.delivery.wake();
        Ok(started)
    }

    /// Pauses, resumes or cancels a re-sync.
    ///
    /// # Errors
    /// No such re-sync; its state does not allow it.
    pub async fn steer_resync(
        &self,
        actor: &Allowed<permission::Resync>,
        id: ResyncId,
        step: ResyncStep,
    ) -> Result<Resync, ServiceError> {
        let (delivery, scope) = (&self.delivery, actor.scope());
        let resync = self
            .change(actor, async |mut tx| {
                let (action, resync) = match step {
                    ResyncStep::Pause => ("resync.pause", delivery.pause_resync(&mut tx, scope, id).await?),
                    ResyncStep::Resume => {
                        ("resync.resume", delivery.resume_resync(&mut tx, scope, id).await?)
                    }
                    ResyncStep::Cancel => {
                        ("resync.cancel", delivery.cancel_resync(&mut tx, scope, id).await?)
                    }
                };
                let entry = Entry::new(action).about(id).of_app(resync.app_id);
                Ok((tx, resync, entry))
            })
            .await?;
        delivery.wake();
        self.shown(actor, resync).await
    }
}
