//! Apps: made, changed, deleted.

use crate::{Steering, SteeringError};
use access::audit::Entry;
use delivery::DeleteOptions;
use model::{
    actor::Actor,
    app::{App, AppChanges, NewApp},
    id::{AppId, OperationId},
};
use queue::store::deletions;

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

    /// Deletes it with its integrations and its catalog. Answers the operation under which what is left goes on being deleted; none: nothing is.
    ///
    /// # Errors
    /// No such app; it was changed meanwhile; live jobs stand against it.
    pub async fn delete_app(
        &self,
        actor: &Actor,
        id: AppId,
        options: &DeleteOptions,
    ) -> Result<Option<OperationId>, SteeringError> {
        let before = self.delivery.app(actor.scope(), id).await?;
        let deletion = self
            .change(actor, async |mut tx| {
                let deletion =
                    self.delivery.delete_app(&mut tx, actor.scope(), id, options, &actor.name).await?;
                Ok((tx, deletion, Entry::new("app.delete").about(id).of_app(id).without(&before)))
            })
            .await?;
        Ok(self.work_off(deletion).await)
    }

    /// Deletes what a deletion left behind, if that is little; answers its id otherwise.
    pub(crate) async fn work_off(&self, deletion: OperationId) -> Option<OperationId> {
        let is_over = deletions::work_off_at_once(self.pool(), deletion).await;
        (!is_over).then_some(deletion)
    }
}
