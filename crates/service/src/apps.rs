//! Apps.

use crate::{Allowed, Headgate, ServiceError, permission};
use access::audit::Entry;
use delivery::deletions;
use model::app::{App, AppChanges, NewApp};
use model::deletion::DeleteOptions;
use model::id::{AppId, OperationId};
use model::page::{Page, PageRequest};

impl Headgate {
    /// Lists apps, newest first.
    pub async fn apps(
        &self,
        actor: &Allowed<permission::Read>,
        page: PageRequest,
    ) -> Result<Page<App>, ServiceError> {
        Ok(self.delivery_lists().apps(actor.scope(), page).await?)
    }

    /// One app.
    ///
    /// # Errors
    /// No such app.
    pub async fn app(&self, actor: &Allowed<permission::Read>, id: AppId) -> Result<App, ServiceError> {
        Ok(self.delivery.app(actor.scope(), id).await?)
    }

    /// Creates an app and its built-in integration `workers`.
    ///
    /// # Errors
    /// Faults by field; the slug is taken.
    pub async fn create_app(
        &self,
        actor: &Allowed<permission::Configure>,
        new: &NewApp,
    ) -> Result<App, ServiceError> {
        self.change(actor, async |mut tx| {
            let app = self.delivery.create_app(&mut tx, new.clone()).await?;
            let entry = Entry::new("app.create").about(app.id).of_app(app.id).with(&app);
            Ok((tx, app, entry))
        })
        .await
    }

    /// Changes an app's name or slug.
    ///
    /// # Errors
    /// No such app; faults by field; the slug is taken.
    pub async fn update_app(
        &self,
        actor: &Allowed<permission::Configure>,
        id: AppId,
        changes: &AppChanges,
    ) -> Result<App, ServiceError> {
        let before = self.delivery.app(actor.scope(), id).await?;
        self.change(actor, async |mut tx| {
            let after = self.delivery.update_app(&mut tx, actor.scope(), id, changes.clone()).await?;
            let entry = Entry::new("app.update").about(id).of_app(id).changed(&before, &after);
            Ok((tx, after, entry))
        })
        .await
    }

    /// Deletes an app with its integrations and records. Returns the operation that deletes the remaining rows, or `None` when none are left.
    ///
    /// # Errors
    /// No such app; it was changed meanwhile; it has live jobs.
    pub async fn delete_app(
        &self,
        actor: &Allowed<permission::Configure>,
        id: AppId,
        options: &DeleteOptions,
    ) -> Result<Option<OperationId>, ServiceError> {
        let before = self.delivery.app(actor.scope(), id).await?;
        let deletion = self
            .change(actor, async |mut tx| {
                let deletion =
                    self.delivery.delete_app(&mut tx, actor.scope(), id, options, &actor.name).await?;
                Ok((tx, deletion, Entry::new("app.delete").about(id).of_app(id).without(&before)))
            })
            .await?;
        Ok(self.finish_if_small(deletion).await)
    }

    /// Deletes the remaining rows if they are few. `None`: all are deleted.
    pub(crate) async fn finish_if_small(&self, deletion: OperationId) -> Option<OperationId> {
        let is_finished = deletions::finish_if_small(self.pool(), deletion).await;
        (!is_finished).then_some(deletion)
    }
}
