//! Integrations: list, create, read, change, delete. Actions on one are in `integration_control`.

use crate::{Allowed, Headgate, ServiceError, change::Tx, permission, read_in_parts};
use access::audit::Entry;
use model::actor::Actor;
use model::deletion::DeleteOptions;
use model::id::{IntegrationId, OperationId};
use model::integration::{Integration, IntegrationWithSecret};
use model::integration_query::IntegrationFilter;
use model::integration_settings::{IntegrationChanges, NewIntegration};
use model::page::{Page, PageRequest};
use model::record::{SentFilter, SentRecord};
use model::record_page::RecordPageRequest;

impl Headgate {
    /// Lists integrations, newest first.
    pub async fn integrations(
        &self,
        actor: &Allowed<permission::Read>,
        filter: IntegrationFilter,
        page: PageRequest,
    ) -> Result<Page<Integration>, ServiceError> {
        let page = self.delivery_lists().integrations(actor.scope(), filter, page).await?;
        self.shown(actor, page).await
    }

    /// One integration.
    ///
    /// # Errors
    /// No such integration.
    pub async fn integration(
        &self,
        actor: &Allowed<permission::Read>,
        id: IntegrationId,
    ) -> Result<Integration, ServiceError> {
        self.shown(actor, self.delivery.integration(actor.scope(), id).await?).await
    }

    /// Lists the data last sent, per record, ordered by type and id.
    ///
    /// # Errors
    /// No such integration.
    pub async fn sent_records(
        &self,
        actor: &Allowed<permission::Read>,
        id: IntegrationId,
        filter: &SentFilter,
        page: RecordPageRequest,
    ) -> Result<Page<SentRecord>, ServiceError> {
        let scope = actor.scope();
        let app_id = self.delivery.integration(scope, id).await?.app_id;
        let lists = &self.delivery_lists();
        let page =
            read_in_parts(page, |page| async move { lists.sent(scope, id, filter, &page).await }).await?;
        Ok(self.shown(actor, (app_id, page)).await?.1)
    }

    /// Creates an integration. Only this answer has its signing secret.
    ///
    /// # Errors
    /// Faults by field; no such app.
    pub async fn create_integration(
        &self,
        actor: &Allowed<permission::Configure>,
        new: &NewIntegration,
    ) -> Result<IntegrationWithSecret, ServiceError> {
        self.delivery.judge_endpoint(new.endpoint_url.as_deref()).await?;
        self.change(actor, async |mut tx| {
            let created = self.delivery.create_integration(&mut tx, actor.scope(), new.clone()).await?;
            let integration = &created.integration;
            let entry = Entry::new("integration.create").about(integration.id).of_app(integration.app_id);
            let entry = entry.with(integration);
            Ok((tx, created, entry))
        })
        .await
    }

    /// Changes an integration's settings. A shorter bundle window also applies to jobs that wait already.
    ///
    /// # Errors
    /// No such integration; faults by field.
    pub async fn update_integration(
        &self,
        actor: &Allowed<permission::Configure>,
        id: IntegrationId,
        changes: &IntegrationChanges,
    ) -> Result<Integration, ServiceError> {
        self.delivery.judge_endpoint(changes.endpoint_url.as_deref()).await?;
        let after = self
            .change_integration(actor, id, "integration.update", async |mut tx| {
                let after =
                    self.delivery.update_integration(&mut tx, actor.scope(), id, changes.clone()).await?;
                Ok((tx, after))
            })
            .await?;
        if !changes.bundle_window_seconds.is_keep() {
            self.delivery.apply_shorter_window(id).await;
        }
        Ok(after)
    }

    /// Deletes an integration and its sent state. Returns the operation that deletes the remaining rows, or `None` when none are left.
    ///
    /// # Errors
    /// No such integration; it was changed meanwhile; it is the built-in one; it has live jobs.
    pub async fn delete_integration(
        &self,
        actor: &Allowed<permission::Configure>,
        id: IntegrationId,
        options: &DeleteOptions,
    ) -> Result<Option<OperationId>, ServiceError> {
        let before = self.delivery.integration(actor.scope(), id).await?;
        let deletion = self
            .change(actor, async |mut tx| {
                let deletion = self
                    .delivery
                    .delete_integration(&mut tx, actor.scope(), id, options, &actor.name)
                    .await?;
                let entry = Entry::new("integration.delete").about(id).of_app(before.app_id);
                Ok((tx, deletion, entry.without(&before)))
            })
            .await?;
        Ok(self.finish_if_small(deletion).await)
    }

    /// Changes an integration and records the fields that differ.
    pub(crate) async fn change_integration<F: Future<Output = Result<(Tx, Integration), ServiceError>>>(
        &self,
        actor: &Actor,
        id: IntegrationId,
        action: &'static str,
        make: impl Fn(Tx) -> F,
    ) -> Result<Integration, ServiceError> {
        let before = self.delivery.integration(actor.scope(), id).await?;
        let after = self
            .change(actor, async |tx| {
                let (tx, after) = make(tx).await?;
                let entry = Entry::new(action).about(id).of_app(after.app_id).changed(&before, &after);
                Ok((tx, after, entry))
            })
            .await?;
        self.delivery.wake();
        Ok(after)
    }
}
