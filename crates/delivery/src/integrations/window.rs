//! A bundle's window becomes shorter: what was to wait for the end of the longer one.

use std::time::Duration;

use model::id::IntegrationId;
use queue::store::jobs;
use tokio::time::{Instant, sleep};

use crate::{Delivery, DeliveryError, store};

/// The first wait for those who hold what is to be changed, and the longest.
const WAITS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));
/// So long altogether: longer than any statement of ours may take.
const PATIENCE: Duration = Duration::from_secs(90);

impl Delivery {
    /// Lets the changes a bundle gathers go at the end of its window as it is now. Call it after the commit of a changed window: a
    /// portion at a time, no lock of the integration's is held meanwhile. (Whoever accepts a change holds the integration's row, and a
    /// change of the window waits for that: nobody makes a job for the end of the old window afterwards.)
    ///
    /// It ends once no job is later; a caller that goes away does not stop it.
    pub async fn hasten_bundle(&self, id: IntegrationId) {
        let delivery = self.clone();
        let hastened = tokio::spawn(async move {
            match delivery.hasten_all(id).await {
                Ok(true) => {}
                Ok(false) => tracing::warn!(
                    integration.id = %id,
                    "some jobs of integration {id} keep waiting for the end of its window before: others held them for too long"
                ),
                Err(error) => tracing::warn!(
                    integration.id = %id, %error,
                    "some jobs of integration {id} may keep waiting for the end of its window before"
                ),
            }
            delivery.wake();
        });
        let _ = hastened.await;
    }

    /// Whether none is left.
    async fn hasten_all(&self, id: IntegrationId) -> Result<bool, DeliveryError> {
        let begun = Instant::now();
        let (mut wait, longest) = WAITS;
        // The end of the window as it is at each pass: time goes on meanwhile, and new changes are due later.
        while let Some(ends_at) = store::integrations::window_ends_at(&self.pool, id).await? {
            if !jobs::is_any_later(&self.pool, id, ends_at).await? {
                break;
            }
            if begun.elapsed() > PATIENCE {
                return Ok(false);
            }
            if jobs::hasten(&self.pool, id, ends_at).await? == 0 {
                sleep(wait).await;
                wait = (wait * 2).min(longest);
            }
        }
        Ok(true)
    }
}
