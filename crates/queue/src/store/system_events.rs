//! What happened that nobody did, for the feed. Starts of processes are written where they register ([`crate::worker`]).

use crate::error::QueueError;
use model::{
    id::{AppId, IntegrationId},
    text::sanitise,
};
use sqlx::PgConnection;
use uuid::Uuid;

/// The engine paused an integration.
///
/// # Errors
/// The database's: then the pause must not stay either.
pub async fn paused(
    conn: &mut PgConnection,
    app_id: AppId,
    integration_id: IntegrationId,
    reason: &str,
) -> Result<(), QueueError> {
    sqlx::query!(
        "insert into headgate.system_events (id, kind, app_id, integration_id, reason) values ($1, 'pause', $2, $3, $4)",
        Uuid::now_v7(),
        app_id as AppId,
        integration_id as IntegrationId,
        sanitise(reason, 500),
    )
    .execute(conn)
    .await?;
    Ok(())
}
