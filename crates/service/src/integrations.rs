//! Integrations, their breakers and signing secrets.

use crate::{Headgate, ServiceError, change::Tx};
use access::audit::Entry;
use delivery::{DeleteOptions, TestReport};
use model::{
    actor::Actor,
    breaker::BreakerOrder,
    id::{IntegrationId, OperationId},
    integration::{Integration, IntegrationChanges, IntegrationWithSecret, NewIntegration},
};

impl Headgate {
    /// Creates an integration. Only this answer has its signing secret.
    ///
    /// # Errors
    /// Faults by field; no such app.
    pub async fn create_integration(
        &self,
        actor: &Actor,
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
        actor: &Actor,
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
        actor: &Actor,
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

    /// Pauses it: jobs are still accepted and wait.
    ///
    /// # Errors
    /// No such integration; it is switched off.
    pub async fn pause_integration(
        &self,
        actor: &Actor,
        id: IntegrationId,
        reason: Option<&str>,
    ) -> Result<Integration, ServiceError> {
        self.change_integration(actor, id, "integration.pause", async |mut tx| {
            let after = self.delivery.pause_integration(&mut tx, actor.scope(), id, reason).await?;
            Ok((tx, after))
        })
        .await
    }

    /// Resumes it.
    ///
    /// # Errors
    /// No such integration; it is switched off.
    pub async fn resume_integration(
        &self,
        actor: &Actor,
        id: IntegrationId,
    ) -> Result<Integration, ServiceError> {
        self.change_integration(actor, id, "integration.resume", async |mut tx| {
            let after = self.delivery.resume_integration(&mut tx, actor.scope(), id).await?;
            Ok((tx, after))
        })
        .await
    }

    /// Probes, closes or holds open its circuit breaker.
    ///
    /// # Errors
    /// No such integration; a hold of more than 30 days.
    pub async fn control_breaker(
        &self,
        actor: &Actor,
        id: IntegrationId,
        order: BreakerOrder,
    ) -> Result<Integration, ServiceError> {
        self.change_integration(actor, id, "integration.breaker", async |mut tx| {
            let after = self.delivery.control_breaker(&mut tx, actor.scope(), id, order, &actor.name).await?;
            Ok((tx, after))
        })
        .await
    }

    /// Creates a new signing secret, which only this answer has. For 24 hours requests carry both signatures.
    ///
    /// # Errors
    /// No such integration.
    pub async fn rotate_secret(
        &self,
        actor: &Actor,
        id: IntegrationId,
    ) -> Result<IntegrationWithSecret, ServiceError> {
        self.change(actor, async |mut tx| {
            let rotated = self.delivery.rotate_secret(&mut tx, actor.scope(), id).await?;
            let entry = Entry::new("integration.rotate_secret").about(id).of_app(rotated.integration.app_id);
            Ok((tx, rotated, entry))
        })
        .await
    }

    /// Sends one signed sample request at once, bypassing queue and limits.
    ///
    /// # Errors
    /// No such integration; its type sends nothing.
    pub async fn test_integration(
        &self,
        actor: &Actor,
        id: IntegrationId,
    ) -> Result<(Integration, TestReport), ServiceError> {
        let (integration, report) = self.delivery.test_integration(actor.scope(), id).await?;
        self.record_done(actor, Entry::new("integration.test").about(id).of_app(integration.app_id)).await;
        Ok((integration, report))
    }

    /// Changes an integration and records the fields that differ.
    async fn change_integration<F: Future<Output = Result<(Tx, Integration), ServiceError>>>(
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
