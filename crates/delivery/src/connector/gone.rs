//! A 410 pauses the integration: its system wants no more requests.

use model::{id::IntegrationId, text::causes};

use crate::Delivery;
use crate::integrations::{Pause, pause_because};

/// Pauses the integration, and returns whether that is written. In a task of its own: an attempt that is dropped at its time-out must not
/// return a connection with an open transaction to the pool.
pub(super) async fn pause(delivery: &Delivery, id: IntegrationId) -> bool {
    let delivery = delivery.clone();
    let paused = tokio::spawn(async move {
        let reason = "the external system answered 410 Gone: it wants no more requests";
        let paused = pause_because(&delivery, id, reason).await;
        match &paused {
            Ok(Pause::Now) => {
                tracing::warn!(integration.id = %id, "integration {id} is paused: {reason}");
            }
            Ok(Pause::Already) => {}
            Err(error) => {
                let error = causes(error);
                tracing::warn!(integration.id = %id, %error, "integration {id} could not be paused");
            }
        }
        paused.is_ok()
    });
    paused.await.unwrap_or(false)
}
