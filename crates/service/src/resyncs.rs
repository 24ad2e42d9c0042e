//! Re-syncs: start, pause, resume, cancel.

use crate::{Headgate, ServiceError};
use access::audit::Entry;
use model::{
    actor::Actor,
    id::{IntegrationId, ResyncId},
    resync::{NewResync, Resync, ResyncStarted, ResyncStep},
};

impl Headgate {
    /// Sends an integration all its records again, or a part of them.
    ///
    /// # Errors
    /// No such integration; a re-sync of the same scope is running; it is too soon after the last one.
    pub async fn start_resync(
        &self,
        actor: &Actor,
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
        actor: &Actor,
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
        Ok(resync)
    }
}
