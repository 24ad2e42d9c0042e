//! Whether the database can be reached, as far as recording results shows it.

use crate::worker::state::WakeUps;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the database answered the last time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    Reached,
    Away,
}

/// Whether the finisher could reach the database: claims stop while it could not.
#[derive(Default)]
pub(crate) struct Availability {
    is_away: AtomicBool,
    wake_ups: Arc<WakeUps>,
}

impl Availability {
    pub(crate) fn new(wake_ups: Arc<WakeUps>) -> Self {
        Self { is_away: AtomicBool::new(false), wake_ups }
    }

    pub(crate) fn is_away(&self) -> bool {
        self.is_away.load(Ordering::Relaxed)
    }

    /// Logs a change, and wakes the claimer when the database is back.
    pub(crate) fn note(&self, reach: Reach) {
        let is_away = reach == Reach::Away;
        if self.is_away.swap(is_away, Ordering::Relaxed) != is_away {
            if is_away {
                tracing::warn!("the database cannot be reached: results are kept, nothing is claimed");
            } else {
                tracing::info!("the database is back");
                self.wake_ups.wake();
            }
        }
    }
}
