//! Events that no person caused, for the activity feed. Starts of processes are written where they register ([`crate::worker`]).

use crate::error::Result;
use model::id::{AppId, IntegrationId};
use model::text::sanitise;
use sqlx::PgConnection;
use uuid::Uuid;

/// The engine paused an integration. If this fails, roll the pause back too.
pub async fn paused(
    conn: &mut PgConnection,
    app_id: AppId,
    integration_id: IntegrationId,
    reason: &str,
) -> Result<()> {
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewEvent {
    /// The threshold is reached.
    Alert,
    /// It no longer is.
    Calm,
}

/// The alert of a shared view begins or ends. The feed keeps the name that the view has now.
pub async fn view_alert(conn: &mut PgConnection, event: ViewEvent, name: &str, reason: &str) -> Result<()> {
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
