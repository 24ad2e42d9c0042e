//! Deleting an integration.
//!
//! Jobs on their way are called off in two steps. First, before the transaction that deletes: the integration is switched off, so that
//! nothing runs or is added, and its jobs are called off portion by portion, each in a transaction of its own, so that a long backlog keeps
//! nobody waiting. Then, under the lock that deletes: whatever a request that had begun earlier added.

mod call_off;

use model::{
    actor::Scope,
    id::{AppId, IntegrationId},
    integration::Integration,
};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{
    Delivery, DeliveryError,
    store::{self, integrations::Hold, rate_limits},
};

/// Jobs called off in one statement.
const CHUNK: i64 = 5_000;

/// What becomes of jobs that are on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelJobs {
    /// They are called off.
    Yes,
    /// They stand against the deletion.
    No,
}

impl Delivery {
    /// Deletes an integration with what was sent of the catalog there and its dead letters. Its finished jobs stay until retention takes them.
    /// To call its jobs off, run [`Self::call_off_integration`] before the transaction.
    ///
    /// # Errors
    /// `live-jobs` when jobs are on their way and are not to be called off; `built-in` for the app's own.
    pub async fn delete_integration(
        &self,
        conn: &mut PgConnection,
        scope: Scope,
        id: IntegrationId,
        cancel: CancelJobs,
    ) -> Result<(), DeliveryError> {
        let integration = store::integrations::hold(conn, scope, id, Hold::ForDeletion).await?;
        refuse_built_in(&integration)?;
        call_off_jobs(conn, &[id.0], cancel).await?;
        remove(conn, integration.app_id, id, integration.rate_limit_key.as_deref()).await
    }
}

fn refuse_built_in(integration: &Integration) -> Result<(), DeliveryError> {
    if integration.is_built_in {
        return Err(DeliveryError::Conflict {
            code: "built-in",
            detail: "every app has this integration: jobs that name none run here".to_owned(),
        });
    }
    Ok(())
}

/// Calls off what is on its way for integrations that are held for deletion, or refuses.
pub(crate) async fn call_off_jobs(
    conn: &mut PgConnection,
    integrations: &[Uuid],
    cancel: CancelJobs,
) -> Result<(), DeliveryError> {
    let live = store::integrations::live_jobs(conn, integrations).await?;
    if live > 0 && cancel == CancelJobs::No {
        return Err(DeliveryError::Conflict {
            code: "live-jobs",
            detail: format!("{live} jobs are on their way: wait, or ask with cancel_jobs=true"),
        });
    }
    for id in integrations {
        while queue::store::jobs::cancel_of_integration(conn, IntegrationId(*id), CHUNK).await? > 0 {}
    }
    Ok(())
}

/// Removes the row, and with it the lane, what was sent and the limits that were its own.
pub(crate) async fn remove(
    conn: &mut PgConnection,
    app_id: AppId,
    id: IntegrationId,
    rate_limit_key: Option<&str>,
) -> Result<(), DeliveryError> {
    store::integrations::delete(conn, id).await?;
    rate_limits::forget_unused(conn, app_id, id, rate_limit_key).await
}
