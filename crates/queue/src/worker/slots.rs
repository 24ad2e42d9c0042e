//! Where a held job gets its send times from, and how long it waited for them.

use super::limiter::Limiter;
use chrono::{DateTime, Utc};
use model::id::IntegrationId;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;

/// Now, for a job that goes back: the statement that releases it never lets a time be in the past.
pub const AT_ONCE: DateTime<Utc> = DateTime::UNIX_EPOCH;

/// Whether a request may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Now.
    Go,
    /// Not soon: answer [`crate::worker::Outcome::Released`] with this time.
    Later(DateTime<Utc>),
}

/// Where a held job gets its send times from.
#[derive(Clone, Default)]
pub struct Slots {
    limiter: Option<Arc<Limiter>>,
    is_limited: bool,
    waited_us: Arc<AtomicU64>,
}

impl std::fmt::Debug for Slots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slots").field("is_limited", &self.is_limited).finish_non_exhaustive()
    }
}

impl Slots {
    /// No limit: every moment is a slot.
    #[must_use]
    pub fn unlimited() -> Self {
        Self::default()
    }

    pub(super) fn of(limiter: Arc<Limiter>, is_limited: bool) -> Self {
        Self { limiter: Some(limiter), is_limited, waited_us: Arc::default() }
    }

    pub(super) fn is_limited(&self) -> bool {
        self.is_limited
    }

    /// How long the job has waited for slots: not part of its time-out.
    pub(super) fn waited(&self) -> Duration {
        Duration::from_micros(self.waited_us.load(Ordering::Relaxed))
    }

    pub(super) async fn next(&self, integration_id: IntegrationId) -> Slot {
        let Some(limiter) = &self.limiter else { return Slot::Go };
        let asked_at = Instant::now();
        let slot = limiter.next(integration_id, self.is_limited).await;
        let waited = u64::try_from(asked_at.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.waited_us.fetch_add(waited, Ordering::Relaxed);
        slot
    }
}
