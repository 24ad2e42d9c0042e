//! Deleting an integration: its row goes at once, so that nothing is accepted or sent for it any more. Its jobs, dead letters and sent state
//! are deleted afterwards (`store/deletions.rs`), so that the request does not wait, however many there are.

use model::actor::Scope;
use model::deletion::DeleteOptions;
use model::id::{AppId, IntegrationId, OperationId};
use model::integration::Integration;
use queue::QueueError;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::store::deletions::{self, NewDeletion};
use crate::store::integrations::RowLock;
use crate::store::{self, rate_limits};
use crate::{Delivery, DeliveryError};

impl Delivery {
    /// Deletes an integration. Its jobs, dead letters and sent state are deleted after the commit, by the deletion with the returned id
    /// ([`crate::deletions`]). Its finished jobs stay until retention deletes them.
    ///
    /// # Errors
    /// `NotFound`; `live-jobs` when there are live jobs that are not to be cancelled; the version was changed meanwhile; `built-in`.
    pub async fn delete_integration(
        &self,
        conn: &mut PgConnection,
        scope: Scope,
        id: IntegrationId,
        options: &DeleteOptions,
        requested_by: &str,
    ) -> Result<OperationId, DeliveryError> {
        let integration = store::integrations::lock(conn, scope, id, RowLock::Deletion).await?;
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

/// Refuses a deletion while there are live jobs, unless they are to be cancelled. The integrations have to be locked for deletion.
pub(crate) async fn refuse_live_jobs(
    conn: &mut PgConnection,
    integrations: &[Uuid],
    options: &DeleteOptions,
) -> Result<(), DeliveryError> {
    let live = store::integrations::live_jobs(conn, integrations).await?;
    if live > 0 && !options.cancel_jobs {
        return Err(DeliveryError::Conflict {
            code: "live-jobs",
            detail: format!("{live} jobs have not ended: wait, or repeat the request with cancel_jobs=true"),
        });
    }
    Ok(())
}

/// Deletes the row, and with it the lane and the limits no other integration uses.
pub(crate) async fn remove(
    conn: &mut PgConnection,
    app_id: AppId,
    id: IntegrationId,
    rate_limit_key: Option<&str>,
) -> Result<(), DeliveryError> {
    store::integrations::delete(conn, id).await?;
    rate_limits::delete_unused(conn, app_id, id, rate_limit_key).await
}
