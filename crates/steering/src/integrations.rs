//! Integrations: made, changed, deleted, paused, and what is done with their breakers and secrets.

use crate::{Steering, SteeringError, change::Tx};
use access::audit::Entry;
use delivery::{DeleteOptions, TestReport};
use model::{
    actor::Actor,
    breaker::BreakerOrder,
    id::{IntegrationId, OperationId},
    integration::{Integration, IntegrationChanges, IntegrationWithSecret, NewIntegration},
};

impl Steering {
    /// Makes an integration. The answer holds its signing secret this once.
    ///
    /// # Errors
    /// Faults by field; no such app.
    pub async fn create_integration(
        &self,
        actor: &Actor,
        new: &NewIntegration,
    ) -> Result<IntegrationWithSecret, SteeringError> {
        self.delivery.judge_endpoint(new.endpoint_url.as_deref()).await?;
        self.change(actor, async |mut tx| {
            let made = self.delivery.create_integration(&mut tx, actor.scope(), new.clone()).await?;
            let integration = &made.integration;
            let entry = Entry::new("integration.create").about(integration.id).of_app(integration.app_id);
            let entry = entry.with(integration);
            Ok((tx, made, entry))
        })
        .await
    }

    /// Changes what it sends, where and how fast. A shorter window of a bundle holds for what waits already.
    ///
    /// # Errors
    /// No such integration; faults by field.
    pub async fn update_integration(
        &self,
        actor: &Actor,
        id: IntegrationId,
        changes: &IntegrationChanges,
    ) -> Result<Integration, SteeringError> {
        self.delivery.judge_endpoint(changes.endpoint_url.as_deref()).await?;
        let after = self
            .steer(actor, id, "integration.update", async |mut tx| {
                let after =
                    self.delivery.update_integration(&mut tx, actor.scope(), id, changes.clone()).await?;
                Ok((tx, after))
            })
            .await?;
        if !changes.bundle_window_seconds.is_keep() {
            self.delivery.hasten_bundle(id).await;
        }
        Ok(after)
    }

    /// Deletes it and what is known of its copy of the catalog. Answers the operation under which what is left goes on being deleted; none: nothing
    /// is.
    ///
    /// # Errors
    /// No such integration; it was changed meanwhile; it is the built-in one; live jobs stand against it.
    pub async fn delete_integration(
        &self,
        actor: &Actor,
        id: IntegrationId,
        options: &DeleteOptions,
    ) -> Result<Option<OperationId>, SteeringError> {
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
        Ok(self.work_off(deletion).await)
    }

    /// Holds its jobs back: they are collected and wait.
    ///
    /// # Errors
    /// No such integration; it is switched off.
    pub async fn pause_integration(
        &self,
        actor: &Actor,
        id: IntegrationId,
        reason: Option<&str>,
    ) -> Result<Integration, SteeringError> {
        self.steer(actor, id, "integration.pause", async |mut tx| {
            let after = self.delivery.pause_integration(&mut tx, actor.scope(), id, reason).await?;
            Ok((tx, after))
        })
        .await
    }

    /// Lets its jobs go out again.
    ///
    /// # Errors
    /// No such integration; it is switched off.
    pub async fn resume_integration(
        &self,
        actor: &Actor,
        id: IntegrationId,
    ) -> Result<Integration, SteeringError> {
        self.steer(actor, id, "integration.resume", async |mut tx| {
            let after = self.delivery.resume_integration(&mut tx, actor.scope(), id).await?;
            Ok((tx, after))
        })
        .await
    }

    /// Probes, closes or holds open its circuit breaker.
    ///
    /// # Errors
    /// No such integration; a hold that does not end within 30 days.
    pub async fn steer_breaker(
        &self,
        actor: &Actor,
        id: IntegrationId,
        order: BreakerOrder,
    ) -> Result<Integration, SteeringError> {
        self.steer(actor, id, "integration.breaker", async |mut tx| {
            let after = self.delivery.steer_breaker(&mut tx, actor.scope(), id, order, &actor.name).await?;
            Ok((tx, after))
        })
        .await
    }

    /// Makes a new signing secret, which the answer holds this once. For 24 hours requests carry both signatures.
    ///
    /// # Errors
    /// No such integration.
    pub async fn rotate_secret(
        &self,
        actor: &Actor,
        id: IntegrationId,
    ) -> Result<IntegrationWithSecret, SteeringError> {
        self.change(actor, async |mut tx| {
            let rotated = self.delivery.rotate_secret(&mut tx, actor.scope(), id).await?;
            let entry = Entry::new("integration.rotate_secret").about(id).of_app(rotated.integration.app_id);
            Ok((tx, rotated, entry))
        })
        .await
    }

    /// Sends one signed sample now, past queue and limits.
    ///
    /// # Errors
    /// No such integration; nothing is sent to one of its type.
    pub async fn test_integration(
        &self,
        actor: &Actor,
        id: IntegrationId,
    ) -> Result<(Integration, TestReport), SteeringError> {
        let (integration, report) = self.delivery.test_integration(actor.scope(), id).await?;
        self.done(actor, Entry::new("integration.test").about(id).of_app(integration.app_id)).await;
        Ok((integration, report))
    }

    /// A change of one that is there, recorded by what differs afterwards.
    async fn steer<F: Future<Output = Result<(Tx, Integration), SteeringError>>>(
        &self,
        actor: &Actor,
        id: IntegrationId,
        action: &'static str,
        make: impl Fn(Tx) -> F,
    ) -> Result<Integration, SteeringError> {
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
