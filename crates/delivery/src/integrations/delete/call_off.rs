//! Calling off what is on its way for integrations that are to be deleted, before the transaction that deletes them.

use std::time::Duration;

use model::{
    actor::Scope,
    id::{AppId, IntegrationId},
    integration::IntegrationState,
};
use queue::{QueueError, store::jobs::BEGIN};
use tokio::time::sleep;

use super::CHUNK;
use crate::{
    Delivery, DeliveryError,
    store::{self, integrations::Hold},
};

/// Why it is switched off, for whoever looks while its jobs are called off, or after a deletion that did not come to its end.
const REASON: &str = "it is being deleted";
/// How often a portion is repeated that lost a race.
const TRIES: u32 = 5;

impl Delivery {
    /// Switches an integration off and calls off its jobs, in short transactions of its own: before [`Self::delete_integration`]. When it
    /// is broken off, the integration stays off, and asking again goes on.
    ///
    /// # Errors
    /// No such integration in the scope; `built_in` for the app's own.
    pub async fn call_off_integration(&self, scope: Scope, id: IntegrationId) -> Result<(), DeliveryError> {
        let integration = store::integrations::get(&self.pool, scope, id).await?;
        super::refuse_built_in(&integration)?;
        switch_off(self, scope, id).await?;
        call_off(self, id).await
    }

    /// The same for every integration of an app: before [`Self::delete_app`].
    ///
    /// # Errors
    /// No such app in the scope.
    pub async fn call_off_app(&self, scope: Scope, id: AppId) -> Result<(), DeliveryError> {
        let app = store::apps::get(&self.pool, scope, id).await?;
        let integrations = store::integrations::ids_of_app(&self.pool, app.id).await?;
        for id in &integrations {
            switch_off(self, scope, *id).await?;
        }
        for id in integrations {
            call_off(self, id).await?;
        }
        Ok(())
    }
}

/// From the commit on nothing of it is claimed, and no new job is accepted.
async fn switch_off(delivery: &Delivery, scope: Scope, id: IntegrationId) -> Result<(), DeliveryError> {
    let mut transaction = delivery.pool.begin_with(BEGIN).await?;
    store::integrations::hold(&mut transaction, scope, id, Hold::ForChange).await?;
    store::integrations::set_state(&mut transaction, id, IntegrationState::Disabled, Some(REASON)).await?;
    queue::store::lanes::set_open(&mut transaction, id, false).await?;
    transaction.commit().await?;
    Ok(())
}

async fn call_off(delivery: &Delivery, id: IntegrationId) -> Result<(), DeliveryError> {
    let mut tries = 0;
    loop {
        match portion(delivery, id).await {
            Ok(0) => return Ok(()),
            Ok(_) => tries = 0,
            // A worker ended some of the same jobs.
            Err(QueueError::Database(error)) if is_race(&error) && tries < TRIES => {
                tries += 1;
                sleep(Duration::from_millis(20) * tries).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

async fn portion(delivery: &Delivery, id: IntegrationId) -> Result<u64, QueueError> {
    let mut transaction = delivery.pool.begin_with(BEGIN).await?;
    let ended = queue::store::jobs::cancel_of_integration(&mut transaction, id, CHUNK).await?;
    transaction.commit().await?;
    Ok(ended)
}

fn is_race(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    code.is_some_and(|code| matches!(&*code, "40P01" | "40001" | "23505" | "55P03"))
}
