//! Pausing and resuming integrations, and manual control of the circuit breaker.

use model::actor::Scope;
use model::breaker::{BreakerFlip, BreakerOrder};
use model::id::IntegrationId;
use model::integration::{Integration, IntegrationState};
use model::page::{Page, PageRequest};
use model::text::sanitise;
use sqlx::PgConnection;

use crate::store::integrations::RowLock;
use crate::{Delivery, DeliveryError, store};

const REASON_CHARS: usize = 500;

impl Delivery {
    /// Pauses an integration: its jobs wait and new ones are still accepted; running ones end. Pausing it again replaces the reason.
    ///
    /// # Errors
    /// `NotFound`; `disabled`.
    pub async fn pause_integration(
        &self,
        conn: &mut PgConnection,
        scope: Scope,
        id: IntegrationId,
        reason: Option<&str>,
    ) -> Result<Integration, DeliveryError> {
        refuse_disabled(&store::integrations::lock(conn, scope, id, RowLock::Change).await?)?;
        pause(conn, id, reason).await?;
        store::integrations::get(conn, scope, id).await
    }

    /// Lets the jobs of an integration run again; call [`Self::wake`] after the commit.
    ///
    /// # Errors
    /// `NotFound`; `disabled`.
    pub async fn resume_integration(
        &self,
        conn: &mut PgConnection,
        scope: Scope,
        id: IntegrationId,
    ) -> Result<Integration, DeliveryError> {
        refuse_disabled(&store::integrations::lock(conn, scope, id, RowLock::Change).await?)?;
        queue::store::breakers::reset(conn, id, "the integration was resumed").await?;
        store::integrations::set_state(conn, id, IntegrationState::Active, None).await?;
        queue::store::lanes::open(conn, id).await?;
        store::integrations::get(conn, scope, id).await
    }

    /// Carries out an operator's order for the circuit breaker; call [`Self::wake`] after the commit. `who` is recorded with the change.
    ///
    /// # Errors
    /// `NotFound`; the fault of `until`.
    pub async fn steer_breaker(
        &self,
        conn: &mut PgConnection,
        scope: Scope,
        id: IntegrationId,
        order: BreakerOrder,
        who: &str,
    ) -> Result<Integration, DeliveryError> {
        store::integrations::lock(conn, scope, id, RowLock::Change).await?;
        queue::store::breakers::steer(conn, id, order, &sanitise(who, REASON_CHARS)).await?;
        store::integrations::get(conn, scope, id).await
    }

    /// The changes of the circuit breaker in the last 30 days, newest first.
    ///
    /// # Errors
    /// `NotFound`.
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

/// Whether an integration had to be paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    Now,
    /// It was not active any more.
    Already,
}

/// Pauses an integration because its system asked for it (410). A disabled integration stays disabled.
pub(crate) async fn pause_because(
    delivery: &Delivery,
    id: IntegrationId,
    reason: &str,
) -> Result<Pause, DeliveryError> {
    let mut transaction = delivery.pool.begin().await?;
    let integration =
        store::integrations::lock(&mut transaction, Scope::AllApps, id, RowLock::Change).await?;
    let is_active = integration.state == IntegrationState::Active;
    if is_active {
        pause(&mut transaction, id, Some(reason)).await?;
        queue::store::system_events::paused(&mut transaction, integration.app_id, id, reason).await?;
    }
    transaction.commit().await?;
    Ok(if is_active { Pause::Now } else { Pause::Already })
}

async fn pause(
    conn: &mut PgConnection,
    id: IntegrationId,
    reason: Option<&str>,
) -> Result<(), DeliveryError> {
    let reason = reason.map(|reason| sanitise(reason, REASON_CHARS));
    store::integrations::set_state(conn, id, IntegrationState::Paused, reason.as_deref()).await?;
    queue::store::lanes::close(conn, id).await?;
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
