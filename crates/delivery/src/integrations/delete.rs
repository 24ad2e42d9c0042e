//! Deleting an integration: its row goes at once, and with it what could be accepted or sent. Its jobs, dead letters and what was sent there are
//! worked off afterwards (`queue::store::deletions`), so that however many there are, nobody waits for them.

use model::{
    actor::Scope,
    etag::IfMatch,
    id::{AppId, IntegrationId, OperationId},
    integration::Integration,
};
use queue::{
    QueueError,
    store::deletions::{self, NewDeletion},
};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{
    Delivery, DeliveryError,
    store::{self, integrations::Hold, rate_limits},
};

/// What a deletion asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Jobs that are on their way are called off; else they stand against the deletion.
    pub cancel_jobs: bool,
    /// The version that is deleted.
    pub if_match: IfMatch,
}

impl Delivery {
    /// Deletes an integration. Its jobs, its dead letters and what was sent of the catalog there are worked off after the commit, as the deletion
    /// of this id ([`queue::store::deletions`]). Its finished jobs stay until retention takes them.
    ///
    /// # Errors
    /// `live-jobs` when jobs are on their way and are not to be called off; it was changed meanwhile; `built-in` for the app's own.
    pub async fn delete_integration(
        &self,
        conn: &mut PgConnection,
        scope: Scope,
        id: IntegrationId,
        options: &DeleteOptions,
        requested_by: &str,
    ) -> Result<OperationId, DeliveryError> {
        let integration = store::integrations::hold(conn, scope, id, Hold::ForDeletion).await?;
        options.if_match.check(integration.updated_at).map_err(QueueError::from)?;
        refuse_built_in(&integration)?;
        refuse_live_jobs(conn, &[id.0], options).await?;
        let deletion = NewDeletion {
            app_id: integration.app_id,
            integration_id: Some(id),
            integration_ids: &[id.0],
            name: &integration.name,
            requested_by,
        };
        let deletion = deletions::begin(conn, &deletion).await?;
        remove(conn, integration.app_id, id, integration.rate_limit_key.as_deref()).await?;
        Ok(deletion)
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

/// Refuses while anything is on its way for integrations that are held for deletion, unless it is to be called off.
pub(crate) async fn refuse_live_jobs(
    conn: &mut PgConnection,
    integrations: &[Uuid],
    options: &DeleteOptions,
) -> Result<(), DeliveryError> {
    let live = store::integrations::live_jobs(conn, integrations).await?;
    if live > 0 && !options.cancel_jobs {
        return Err(DeliveryError::Conflict {
            code: "live-jobs",
            detail: format!("{live} jobs are on their way: wait, or ask with cancel_jobs=true"),
        });
    }
    Ok(())
}

/// Removes the row, and with it the lane and the limits that were its own.
pub(crate) async fn remove(
    conn: &mut PgConnection,
    app_id: AppId,
    id: IntegrationId,
    rate_limit_key: Option<&str>,
) -> Result<(), DeliveryError> {
    store::integrations::delete(conn, id).await?;
    rate_limits::forget_unused(conn, app_id, id, rate_limit_key).await
}
