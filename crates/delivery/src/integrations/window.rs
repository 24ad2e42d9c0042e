//! When a bundle's window becomes shorter, jobs that wait for the end of the longer one are rescheduled.

use std::time::Duration;

use model::id::IntegrationId;
use queue::store::jobs;
use tokio::time::{Instant, sleep};

use crate::{Delivery, DeliveryError, store};

/// The first wait for jobs that are locked elsewhere, and the longest.
const WAITS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));
/// Longer than any statement of the engine may take.
const RESCHEDULE_TIMEOUT: Duration = Duration::from_secs(90);

impl Delivery {
    /// Reschedules the changes that a bundle gathers to the end of its window as it is now. Call it after the commit of a changed window: it
    /// works portion by portion, without a lock of the integration. (A transaction that accepts changes locks the integration's row, and a
    /// change of the window waits for it: no job is made for the end of the old window afterwards.)
    ///
    /// It returns once no job is due later; a caller that goes away does not stop it.
    pub async fn apply_shorter_window(&self, id: IntegrationId) {
        let delivery = self.clone();
        let task = tokio::spawn(async move {
            match delivery.reschedule_all(id).await {
                Ok(true) => {}
                Ok(false) => tracing::warn!(
                    integration.id = %id,
                    "some jobs of integration {id} still wait for the end of its previous window: they were locked for too long"
                ),
                Err(error) => tracing::warn!(
                    integration.id = %id, error = %model::text::causes(&error),
                    "some jobs of integration {id} may still wait for the end of its previous window"
                ),
            }
            delivery.wake();
        });
        let _ = task.await;
    }

    /// Returns whether none is left.
    async fn reschedule_all(&self, id: IntegrationId) -> Result<bool, DeliveryError> {
        let begun = Instant::now();
        let (mut wait, longest) = WAITS;
        // The end of the window is read at each pass: meanwhile a window may have ended, and new changes are due later.
        while let Some(ends_at) = store::integrations::window_ends_at(&self.pool, id).await? {
            if !jobs::is_any_scheduled_later(&self.pool, id, ends_at).await? {
                break;
            }
            if begun.elapsed() > RESCHEDULE_TIMEOUT {
                return Ok(false);
            }
            if jobs::reschedule_earlier(&self.pool, id, ends_at).await? == 0 {
                sleep(wait).await;
                wait = (wait * 2).min(longest);
            }
        }
        Ok(true)
    }
}
