//! Apps: made, changed, deleted.

use crate::{Steering, SteeringError, change::again};
use access::audit::Entry;
use delivery::CancelJobs;
use model::{
    actor::Actor,
    app::{App, AppChanges, NewApp},
    id::AppId,
};

impl Steering {
    /// Makes an app, together with its built-in integration `workers`.
    ///
    /// # Errors
    /// Faults by field; the slug is taken.
    pub async fn create_app(&self, actor: &Actor, new: &NewApp) -> Result<App, SteeringError> {
        self.change(actor, async |mut tx| {
            let app = self.delivery.create_app(&mut tx, new.clone()).await?;
            let entry = Entry::new("app.create").about(app.id).of_app(app.id).with(&app);
            Ok((tx, app, entry))
        })
        .await
    }

    /// Changes its name or slug.
    ///
    /// # Errors
    /// No such app; faults by field; the slug is taken.
    pub async fn update_app(
        &self,
        actor: &Actor,
        id: AppId,
        changes: &AppChanges,
    ) -> Result<App, SteeringError> {
        let before = self.delivery.app(actor.scope(), id).await?;
        self.change(actor, async |mut tx| {
            let after = self.delivery.update_app(&mut tx, actor.scope(), id, changes.clone()).await?;
            let entry = Entry::new("app.update").about(id).of_app(id).changed(&before, &after);
            Ok((tx, after, entry))
        })
        .await
    }

    /// Deletes it with its integrations and its catalog.
    ///
    /// # Errors
    /// No such app; live jobs stand against it.
    pub async fn delete_app(
        &self,
        actor: &Actor,
        id: AppId,
        cancel: CancelJobs,
    ) -> Result<(), SteeringError> {
        let before = self.delivery.app(actor.scope(), id).await?;
        again(|| async {
            if cancel == CancelJobs::Yes {
                self.delivery.call_off_app(actor.scope(), id).await?;
            }
            self.once(actor, async |mut tx| {
                self.delivery.delete_app(&mut tx, actor.scope(), id, cancel).await?;
                Ok((tx, (), Entry::new("app.delete").about(id).of_app(id).without(&before)))
            })
            .await
        })
        .await
    }
}
