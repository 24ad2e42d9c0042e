//! Starting a re-sync.

use model::actor::Scope;
use model::id::{BatchId, IntegrationId, ResyncId};
use model::integration::{Integration, IntegrationState, IntegrationType};
use model::resync::{NewResync, ResyncStarted};
use sqlx::PgConnection;

use super::portion;
use crate::store::integrations::RowLock;
use crate::store::resyncs as rows;
use crate::store::resyncs::NewRow;
use crate::{Delivery, DeliveryError, store};

impl Delivery {
    /// Starts a re-sync and makes the jobs of its first thousand records; call [`Self::wake`] after the commit.
    ///
    /// # Errors
    /// `resync-running` while one of the same scope runs; [`DeliveryError::TooSoon`] shortly after one ended; every fault of the input.
    pub async fn start_resync(
        &self,
        conn: &mut PgConnection,
        scope: Scope,
        id: IntegrationId,
        wanted: NewResync,
        requested_by: &str,
    ) -> Result<ResyncStarted, DeliveryError> {
        wanted.check()?;
        // The lock keeps two concurrent requests from both finding that nothing is running.
        let integration = store::integrations::lock(conn, scope, id, RowLock::Change).await?;
        check(&integration, &wanted)?;
        let record_ids = wanted.record_ids.map(|mut ids| {
            ids.sort();
            ids.dedup();
            ids
        });
        let scope = (wanted.record_type.as_deref(), record_ids.as_deref());
        if rows::is_running(conn, id, scope).await? {
            return Err(DeliveryError::Conflict {
                code: "resync-running",
                detail: "a re-sync of the same scope is running".to_owned(),
            });
        }
        if let Some(retry_after) = rows::cool_down_left(conn, id, scope, self.config.resync_cool_down).await?
        {
            return Err(DeliveryError::TooSoon { retry_after });
        }
        let started = ResyncStarted { resync_id: ResyncId::generate(), batch_id: BatchId::generate() };
        let row = NewRow {
            id: started.resync_id,
            batch_id: started.batch_id,
            app_id: integration.app_id,
            integration_id: id,
            record_type: wanted.record_type.as_deref(),
            record_ids: record_ids.as_deref(),
            mode: wanted.mode,
            requested_by,
        };
        rows::insert(conn, &row).await?;
        portion::enumerate(self, conn, started.resync_id).await?;
        Ok(started)
    }
}

fn check(integration: &Integration, wanted: &NewResync) -> Result<(), DeliveryError> {
    if integration.integration_type == IntegrationType::External {
        return Err(DeliveryError::Conflict {
            code: "external",
            detail: "nothing is sent to an external integration: there is nothing to send again".to_owned(),
        });
    }
    if integration.state == IntegrationState::Disabled {
        return Err(DeliveryError::Conflict {
            code: "disabled",
            detail: "the integration is switched off: set its state to active first".to_owned(),
        });
    }
    if let (Some(types), Some(wanted)) = (&integration.record_types, &wanted.record_type)
        && !types.contains(wanted)
    {
        return Err(DeliveryError::fault("/record_type", "is none this integration takes"));
    }
    Ok(())
}
