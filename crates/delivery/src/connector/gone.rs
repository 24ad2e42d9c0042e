//! A 410 pauses the integration: its system wants no more requests.

use model::id::IntegrationId;

use crate::{Delivery, integrations::pause_because};

/// Pauses the integration, and returns whether that is written. In a task of its own: an attempt that is dropped at its time-out must not
/// return a connection with an open transaction to the pool.
pub(super) async fn pause(delivery: &Delivery, id: IntegrationId) -> bool {
    let delivery = delivery.clone();
    let paused = tokio::spawn(async move {
        let reason = "the external system answered 410 Gone: it wants no more requests";
        let paused = pause_because(&delivery, id, reason).await;
        if let Err(error) = &paused {
            tracing::warn!(integration.id = %id, %error, "integration {id} could not be paused");
        }
        paused.is_ok()
    });
    paused.await.unwrap_or(false)
}
