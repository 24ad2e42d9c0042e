//! 410: the other side wants no more.

use model::id::IntegrationId;

use crate::{Delivery, integrations::pause_because};

/// Pauses the integration, and answers whether that is written. In a task of its own: an attempt that is dropped at its time-out must not
/// leave a half-begun transaction to the pool (RELIABILITY 0.1).
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
