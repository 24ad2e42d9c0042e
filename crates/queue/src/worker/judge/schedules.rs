//! The waits between attempts: the process's, or those of an integration with a schedule of its own.
//!
//! They are read when a failed attempt is to be retried, and cached for two seconds: so completed jobs cost nothing, and a failing system does not
//! cause one query per failure.

use crate::{store::lanes, worker::state::shared::Shared};
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

/// A changed schedule takes effect after this at the latest.
const FRESH_FOR: Duration = Duration::from_secs(2);
/// Results must not wait longer for this query.
const QUERY_TIMEOUT: Duration = Duration::from_secs(1);
/// Cached integrations after which outdated ones are removed.
const MAX_CACHED: usize = 1_000;

/// The schedules of integrations that failed lately.
#[derive(Default)]
pub(crate) struct Schedules {
    cached: Mutex<HashMap<IntegrationId, Cached>>,
}

struct Cached {
    /// None: it has none of its own.
    own: Option<RetrySchedule>,
    asked_at: Instant,
}

/// The waits of an integration, and their source.
pub(crate) struct Waits {
    pub backoff: Backoff,
    /// Name of the source in the reason of a wait.
    pub source: &'static str,
}

impl Schedules {
    fn lock(&self) -> MutexGuard<'_, HashMap<IntegrationId, Cached>> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_fresh(&self, id: IntegrationId) -> bool {
        self.lock().get(&id).is_some_and(|cached| cached.asked_at.elapsed() < FRESH_FOR)
    }

    fn own(&self, id: IntegrationId) -> Option<RetrySchedule> {
        self.lock().get(&id)?.own.clone()
    }

    fn learn(&self, id: IntegrationId, own: Option<RetrySchedule>) {
        let mut cached = self.lock();
        if cached.len() >= MAX_CACHED {
            cached.retain(|_, cached| cached.asked_at.elapsed() < FRESH_FOR);
        }
        cached.insert(id, Cached { own, asked_at: Instant::now() });
    }
}

/// The cached waits, without a query.
pub(crate) fn cached_waits(shared: &Shared, id: IntegrationId) -> Waits {
    let jitter = shared.config.backoff.jitter;
    match shared.schedules.own(id) {
        Some(schedule) => {
            Waits { backoff: Backoff { schedule, jitter }, source: "the integration's retry schedule" }
        }
        None => Waits { backoff: shared.config.backoff.clone(), source: "the retry schedule" },
    }
}

/// The integration's current waits, at most two seconds old; the cached ones while the database does not answer.
pub(crate) async fn waits(shared: &Shared, id: IntegrationId) -> Waits {
    if !shared.schedules.is_fresh(id) && !shared.is_away() {
        let asked = timeout(QUERY_TIMEOUT, lanes::retry_schedule(&shared.pool, id)).await;
        match asked.unwrap_or_else(|_| Err(crate::QueueError::no_answer())) {
            // A schedule of a later version that this one cannot parse counts as none.
            Ok(own) => shared.schedules.learn(id, own.and_then(|text| text.parse().ok())),
            Err(error) => {
                tracing::debug!(integration.id = %id, %error, "its retry schedule could not be read");
            }
        }
    }
    cached_waits(shared, id)
}
