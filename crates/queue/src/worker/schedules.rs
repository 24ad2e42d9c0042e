//! The waits between attempts: the process's, or those of an integration that has its own.
//!
//! Looked up when an attempt failed and is to be tried again, and remembered for two seconds: what completes costs nothing, and of a system that
//! is down the database is asked now and then, not once a failure.

use crate::{store::lanes, worker::shared::Shared};
use model::{
    id::IntegrationId,
    rules::backoff::{Backoff, RetrySchedule},
};
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::{Instant, timeout};

/// A changed schedule holds after this at the latest.
const FRESH_FOR: Duration = Duration::from_secs(2);
/// The database has this long to answer: a result must not wait for it.
const PATIENCE: Duration = Duration::from_secs(1);
/// Integrations that are remembered before the old ones are looked for.
const MANY: usize = 1_000;

/// What is known of the schedules of integrations that failed lately.
#[derive(Default)]
pub(super) struct Schedules {
    known: Mutex<HashMap<IntegrationId, Known>>,
}

struct Known {
    /// None: it has none of its own.
    own: Option<RetrySchedule>,
    asked_at: Instant,
}

/// The waits of an integration, and whose they are.
pub(super) struct Waits {
    pub backoff: Backoff,
    /// For people.
    pub whose: &'static str,
}

impl Schedules {
    fn lock(&self) -> MutexGuard<'_, HashMap<IntegrationId, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_fresh(&self, id: IntegrationId) -> bool {
        self.lock().get(&id).is_some_and(|known| known.asked_at.elapsed() < FRESH_FOR)
    }

    fn own(&self, id: IntegrationId) -> Option<RetrySchedule> {
        self.lock().get(&id)?.own.clone()
    }

    fn learn(&self, id: IntegrationId, own: Option<RetrySchedule>) {
        let mut known = self.lock();
        if known.len() >= MANY {
            known.retain(|_, known| known.asked_at.elapsed() < FRESH_FOR);
        }
        known.insert(id, Known { own, asked_at: Instant::now() });
    }
}

/// As far as is known here, without asking anybody.
pub(super) fn known_waits(shared: &Shared, id: IntegrationId) -> Waits {
    let jitter = shared.config.backoff.jitter;
    match shared.schedules.own(id) {
        Some(schedule) => {
            Waits { backoff: Backoff { schedule, jitter }, whose: "the integration's retry schedule" }
        }
        None => Waits { backoff: shared.config.backoff.clone(), whose: "the retry schedule" },
    }
}

/// As the integration says now, or said two seconds ago; while the database does not answer, as far as is known.
pub(super) async fn waits(shared: &Shared, id: IntegrationId) -> Waits {
    if !shared.schedules.is_fresh(id) && !shared.is_away() {
        let asked = timeout(PATIENCE, lanes::retry_schedule(&shared.pool, id)).await;
        match asked.unwrap_or_else(|_| Err(crate::QueueError::no_answer())) {
            // One that a later version wrote, and this one cannot read, is none.
            Ok(own) => shared.schedules.learn(id, own.and_then(|text| text.parse().ok())),
            Err(error) => {
                tracing::debug!(integration.id = %id, %error, "its retry schedule could not be looked up");
            }
        }
    }
    known_waits(shared, id)
}
