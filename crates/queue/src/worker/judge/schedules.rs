//! The waits between attempts: the process's, or those of an integration with a schedule of its own.
//!
//! They are read when a failed attempt is to be retried, and cached for two seconds: so completed jobs cost nothing, and a failing system does not
//! cause one query per failure.

use crate::{error::within, mutex::lock, store::lanes, worker::state::Availability};
use model::id::IntegrationId;
use model::rules::backoff::{Backoff, RetrySchedule};
use sqlx::PgPool;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

/// A changed schedule takes effect after this at the latest.
const FRESH_FOR: Duration = Duration::from_secs(2);
/// Results must not wait longer for this query.
const QUERY_TIMEOUT: Duration = Duration::from_secs(1);
/// Cached integrations after which outdated ones are removed.
const MAX_CACHED: usize = 1_000;

/// The process's schedule, and those of integrations that failed lately.
pub(crate) struct Schedules {
    pool: PgPool,
    backoff: Backoff,
    availability: Arc<Availability>,
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
    pub(crate) fn new(pool: PgPool, backoff: Backoff, availability: Arc<Availability>) -> Self {
        Self { pool, backoff, availability, cached: Mutex::default() }
    }

    /// The cached waits, without a query.
    pub(crate) fn cached_waits(&self, id: IntegrationId) -> Waits {
        let jitter = self.backoff.jitter;
        match self.own(id) {
            Some(schedule) => {
                Waits { backoff: Backoff { schedule, jitter }, source: "the integration's retry schedule" }
            }
            None => Waits { backoff: self.backoff.clone(), source: "the retry schedule" },
        }
    }

    /// The integration's current waits, at most two seconds old; the cached ones while the database does not answer.
    pub(crate) async fn waits(&self, id: IntegrationId) -> Waits {
        if !self.is_fresh(id) && !self.availability.is_away() {
            match within(QUERY_TIMEOUT, lanes::retry_schedule(&self.pool, id)).await {
                // A schedule of a later version that this one cannot parse counts as none.
                Ok(own) => self.learn(id, own.and_then(|text| text.parse().ok())),
                Err(error) => {
                    tracing::debug!(integration.id = %id, %error, "its retry schedule could not be read");
                }
            }
        }
        self.cached_waits(id)
    }

    fn is_fresh(&self, id: IntegrationId) -> bool {
        lock(&self.cached).get(&id).is_some_and(|cached| cached.asked_at.elapsed() < FRESH_FOR)
    }

    fn own(&self, id: IntegrationId) -> Option<RetrySchedule> {
        lock(&self.cached).get(&id)?.own.clone()
    }

    fn learn(&self, id: IntegrationId, own: Option<RetrySchedule>) {
        let mut cached = lock(&self.cached);
        if cached.len() >= MAX_CACHED {
            cached.retain(|_, cached| cached.asked_at.elapsed() < FRESH_FOR);
        }
        cached.insert(id, Cached { own, asked_at: Instant::now() });
    }
}
