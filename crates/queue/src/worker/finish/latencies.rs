//! Durations of attempts and waits, and response statuses: gathered in memory from recorded ends, and written once a second by one small statement.
//!
//! They are for people and decide nothing. So a killed process may lose its last second, and the finishing statement need not carry them.

use crate::mutex::lock;
use crate::store::counts::latency::{NO_ANSWER, Spans, append};
use crate::store::jobs::{Ending, Response};
use crate::worker::finish::Finished;
use model::id::IntegrationId;
use sqlx::PgPool;
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

/// Between two writes.
const INTERVAL: Duration = Duration::from_secs(1);
/// A write that takes longer is repeated: without an answer it was most likely not executed.
const WRITE_TIMEOUT: Duration = Duration::from_secs(3);

/// Not yet written durations and statuses.
pub(crate) struct Latencies {
    pool: PgPool,
    gathered: Mutex<HashMap<IntegrationId, Spans>>,
}

impl Latencies {
    pub(crate) fn new(pool: PgPool) -> Self {
        Self { pool, gathered: Mutex::default() }
    }

    /// Adds recorded ends, without released and cancelled jobs, whose duration means nothing.
    pub(crate) fn note<'a>(&self, recorded: impl Iterator<Item = &'a Finished>) {
        let mut gathered = lock(&self.gathered);
        for Finished { job, end, is_echo, .. } in recorded {
            if matches!(end.ending, Ending::Released { .. } | Ending::Cancelled { .. }) {
                continue;
            }
            let spans = gathered.entry(end.integration_id).or_default();
            spans.attempt_took(end.duration);
            // A bundle's request has one response, however many jobs it carries.
            if let Some(status) = answer(&end.ending).filter(|_| !is_echo) {
                spans.was_answered(status);
            }
            if job.attempt == 1 {
                // Both on the database's clock.
                let waited = (job.started_at - job.run_at).to_std();
                spans.job_waited(waited.unwrap_or_default());
            }
        }
    }

    /// Writes what was gathered, once a second and at the end.
    pub(crate) async fn write_regularly(&self, end: CancellationToken) {
        let mut ticks = interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let is_last = tokio::select! {
                () = end.cancelled() => true,
                _ = ticks.tick() => false,
            };
            self.write().await;
            if is_last {
                return;
            }
        }
    }

    async fn write(&self) {
        let gathered = std::mem::take(&mut *lock(&self.gathered));
        if gathered.is_empty() {
            return;
        }
        let written = timeout(WRITE_TIMEOUT, append(&self.pool, &gathered)).await;
        if !matches!(written, Ok(Ok(()))) {
            // The finisher logs that the database is away; here it does no harm.
            tracing::debug!(?written, "latencies are kept for the next second");
            let mut kept = lock(&self.gathered);
            for (integration_id, spans) in gathered {
                kept.entry(integration_id).or_default().merge(&spans);
            }
        }
    }
}

/// The response status, if anything was sent.
fn answer(ending: &Ending) -> Option<i16> {
    let of = |response: &Response| i16::try_from(response.status).unwrap_or(NO_ANSWER);
    match ending {
        Ending::Completed { response, .. } => response.as_ref().map(of),
        Ending::Retried { failure, .. } | Ending::Dead { failure, .. } => {
            Some(failure.response.as_ref().map_or(NO_ANSWER, of))
        }
        Ending::Released { .. } | Ending::Cancelled { .. } => None,
    }
}
