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

/// What a shared view tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ViewEvent {
    /// Its threshold is reached.
    Alert,
    /// It is not any more.
    Calm,
}

/// The alert of a view begins or ends. Its name stays in the feed as it was.
pub(crate) async fn of_view(
    conn: &mut PgConnection,
    event: ViewEvent,
    name: &str,
    reason: &str,
) -> Result<(), QueueError> {
    sqlx::query!(
        "insert into headgate.system_events (id, kind, name, reason) values ($1, $2, $3, $4)",
        Uuid::now_v7(),
        if event == ViewEvent::Alert { "alert" } else { "calm" },
        sanitise(name, 80),
        reason,
    )
    .execute(conn)
    .await?;
    Ok(())
}
