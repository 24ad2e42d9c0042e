//! Pausing and resuming, and the circuit breaker by hand.

use model::{
    actor::Scope,
    breaker::{BreakerFlip, BreakerOrder},
    id::IntegrationId,
    integration::{Integration, IntegrationState},
    page::{Page, PageRequest},
    text::sanitise,
};
use sqlx::PgConnection;

use crate::{
    Delivery, DeliveryError,
    store::{self, integrations::Hold},
};

/// Characters of a reason that are kept.
const REASON_CHARS: usize = 500;

impl Delivery {
    /// Its jobs wait from now on and go on being collected; those that run already end. Paused again, it keeps the newer reason.
    ///
    /// # Errors
    /// No such integration in the scope; `disabled` when it is switched off.
    pub async fn pause_integration(
        &self,
        conn: &mut PgConnection,
        scope: Scope,
        id: IntegrationId,
        reason: Option<&str>,
    ) -> Result<Integration, DeliveryError> {
        refuse_disabled(&store::integrations::hold(conn, scope, id, Hold::ForChange).await?)?;
        pause(conn, id, reason).await?;
        store::integrations::get(conn, scope, id).await
    }

    /// Its jobs run again: [`Self::wake`] after the commit.
    ///
    /// # Errors
    /// No such integration in the scope; `disabled` when it is switched off.
    pub async fn resume_integration(
        &self,
        conn: &mut PgConnection,
        scope: Scope,
        id: IntegrationId,
    ) -> Result<Integration, DeliveryError> {
        refuse_disabled(&store::integrations::hold(conn, scope, id, Hold::ForChange).await?)?;
        queue::store::breakers::start_anew(conn, id, "the integration was resumed").await?;
        store::integrations::set_state(conn, id, IntegrationState::Active, None).await?;
        queue::store::lanes::set_open(conn, id, true).await?;
        store::integrations::get(conn, scope, id).await
    }

    /// Does with its circuit breaker what an operator asks for: [`Self::wake`] after the commit. `who` stands in the record of the change.
    ///
    /// # Errors
    /// No such integration in the scope; the fault of `until`.
    pub async fn steer_breaker(
        &self,
        conn: &mut PgConnection,
        scope: Scope,
        id: IntegrationId,
        order: BreakerOrder,
        who: &str,
    ) -> Result<Integration, DeliveryError> {
        store::integrations::hold(conn, scope, id, Hold::ForChange).await?;
        queue::store::breakers::steer(conn, id, order, &sanitise(who, REASON_CHARS)).await?;
        store::integrations::get(conn, scope, id).await
    }

    /// The changes of its circuit breaker, newest first, of the last 30 days.
    ///
    /// # Errors
    /// No such integration in the scope.
    pub async fn breaker_flips(
        &self,
        scope: Scope,
        id: IntegrationId,
        page: PageRequest,
    ) -> Result<Page<BreakerFlip>, DeliveryError> {
        store::integrations::get(&self.pool, scope, id).await?;
        Ok(queue::store::breakers::flips(&self.pool, scope, id, page).await?)
    }
}

/// The external system itself asked for it (410). A disabled integration stays disabled.
pub(crate) async fn pause_because(
    delivery: &Delivery,
    id: IntegrationId,
    reason: &str,
) -> Result<(), DeliveryError> {
    let mut transaction = delivery.pool.begin().await?;
    let integration =
        store::integrations::hold(&mut transaction, Scope::AllApps, id, Hold::ForChange).await?;
    if integration.state == IntegrationState::Active {
        pause(&mut transaction, id, Some(reason)).await?;
        queue::store::system_events::paused(&mut transaction, integration.app_id, id, reason).await?;
    }
    transaction.commit().await?;
    Ok(())
}

async fn pause(
    conn: &mut PgConnection,
    id: IntegrationId,
    reason: Option<&str>,
) -> Result<(), DeliveryError> {
    let reason = reason.map(|reason| sanitise(reason, REASON_CHARS));
    store::integrations::set_state(conn, id, IntegrationState::Paused, reason.as_deref()).await?;
    queue::store::lanes::set_open(conn, id, false).await?;
    Ok(())
}

fn refuse_disabled(integration: &Integration) -> Result<(), DeliveryError> {
    if integration.state == IntegrationState::Disabled {
        return Err(DeliveryError::Conflict {
            code: "disabled",
            detail: "the integration is switched off: set its state to active first".to_owned(),
        });
    }
    Ok(())
}
