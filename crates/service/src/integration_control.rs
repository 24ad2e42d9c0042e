//! Actions on one integration: pause and resume, circuit breaker, signing secret, test.

use crate::{Allowed, Headgate, ServiceError, permission};
use access::audit::Entry;
use model::breaker::{BreakerFlip, BreakerOrder};
use model::id::IntegrationId;
use model::integration::{Integration, IntegrationWithSecret};
use model::integration_control::TestAnswer;
use model::page::{Page, PageRequest};

impl Headgate {
    /// Pauses it: jobs are still accepted and wait.
    ///
    /// # Errors
    /// No such integration; it is switched off.
    pub async fn pause_integration(
        &self,
        actor: &Allowed<permission::Configure>,
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
        actor: &Allowed<permission::Configure>,
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
    pub async fn steer_breaker(
        &self,
        actor: &Allowed<permission::Configure>,
        id: IntegrationId,
        order: BreakerOrder,
    ) -> Result<Integration, ServiceError> {
        self.change_integration(actor, id, "integration.breaker", async |mut tx| {
            let after = self.delivery.steer_breaker(&mut tx, actor.scope(), id, order, &actor.name).await?;
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
        actor: &Allowed<permission::Configure>,
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
        actor: &Allowed<permission::Configure>,
        id: IntegrationId,
    ) -> Result<TestAnswer, ServiceError> {
        let tested = self.delivery.test_integration(actor.scope(), id).await?;
        let entry = Entry::new("integration.test").about(id).of_app(tested.integration.app_id);
        self.record_done(actor, entry).await;
        Ok(tested)
    }

    /// Lists the changes of its circuit breaker in the last 30 days, newest first.
    ///
    /// # Errors
    /// No such integration.
    pub async fn breaker_flips(
        &self,
        actor: &Allowed<permission::Read>,
        id: IntegrationId,
        page: PageRequest,
    ) -> Result<Page<BreakerFlip>, ServiceError> {
        let page = self.delivery_lists().breaker_flips(actor.scope(), id, page).await?;
        self.shown(actor, page).await
    }
}
