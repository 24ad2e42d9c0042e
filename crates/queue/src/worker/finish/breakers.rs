//! Reports to the circuit breakers what this process sees of the external systems.
//!
//! A job that succeeds costs nothing here: its integration is looked up in a map that is empty while all is well. A short transaction reports ends
//! only when an attempt failed, or when the integration's breaker is watched (it is not closed, or another process saw a failure lately; read once a
//! second). It comes before the ends are recorded: otherwise a half-open circuit could claim another job before the success of the last one counts, and
//! a failing one before the attempt that opens it. Successes of a closed circuit without failures in a row matter only for the rate, and are gathered
//! for a second.
//!
//! A system that refuses a request (4xx) is alive: that counts as a success. A 429 counts as neither, because it makes the integration quiet, and
//! neither does what never reached the system: released, cancelled, unchanged or lost jobs.

use crate::error::{QueueError, within};
use crate::mutex::lock;
use crate::store::breakers::{Change, Observed, Report, observe, watched};
use crate::wake::wake_all;
use crate::worker::finish::Finished;
use crate::worker::finish::breaker_outcomes::{Seen, judge};
use crate::worker::state::{Availability, WakeUps};
use model::id::IntegrationId;
use sqlx::PgPool;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{MissedTickBehavior, timeout};
use tokio_util::sync::CancellationToken;

const READ_INTERVAL: Duration = Duration::from_secs(1);
/// A list of watched breakers older than this may miss one.
const STALE_AFTER: Duration = Duration::from_secs(5);
/// Results must not wait for a slow database. What could not be reported is reported the next time.
const REPORT_TIMEOUT: Duration = Duration::from_secs(3);
/// Integrations reported in one transaction: one for all those of a mass outage would exceed its time-out, and never succeed.
const MAX_REPORTED: usize = 50;

/// Reports what this process sees.
pub(crate) struct Breakers {
    pool: PgPool,
    /// Failures in a row that open a circuit; 0: none do.
    failures: u32,
    availability: Arc<Availability>,
    wake_ups: Arc<WakeUps>,
    seen: Mutex<Seen>,
}

impl Breakers {
    pub(crate) fn new(
        pool: PgPool,
        failures: u32,
        availability: Arc<Availability>,
        wake_ups: Arc<WakeUps>,
    ) -> Self {
        Self { pool, failures, availability, wake_ups, seen: Mutex::default() }
    }

    /// Reports to the breakers what a batch of ends says about their integrations, before the ends are recorded.
    pub(crate) async fn report_ends(&self, batch: &[Finished]) {
        if self.availability.is_away() {
            // Results are kept until it is back, and reported with the next ones.
            let later = lock(&self.seen).take(batch, self.failures);
            return lock(&self.seen).keep(later);
        }
        let is_stale = lock(&self.seen).is_older_than(STALE_AFTER);
        if is_stale && batch.iter().any(|finished| judge(finished).is_some()) {
            self.read_watched().await;
        }
        let urgent = lock(&self.seen).take(batch, self.failures);
        self.send_reports(urgent).await;
    }

    /// Reads the watched breakers once a second and reports what was gathered, until the engine has ended.
    pub(crate) async fn watch(&self, over: CancellationToken) {
        let mut ticks = tokio::time::interval(READ_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let is_over = tokio::select! {
                () = over.cancelled() => true,
                _ = ticks.tick() => false,
            };
            let gathered = lock(&self.seen).take_unreported();
            self.send_reports(gathered).await;
            if is_over {
                return;
            }
            self.read_watched().await;
        }
    }

    async fn read_watched(&self) {
        let reports_before = lock(&self.seen).reports();
        match within(REPORT_TIMEOUT, watched(&self.pool)).await {
            Ok(found) => lock(&self.seen).replace(found, reports_before),
            Err(error) => tracing::debug!(%error, "the watched breakers could not be read"),
        }
    }

    async fn send_reports(&self, seen: Vec<(IntegrationId, Observed)>) {
        if seen.is_empty() {
            return;
        }
        let failures = i32::try_from(self.failures).unwrap_or(i32::MAX);
        let mut portions = seen.chunks(MAX_REPORTED);
        while let Some(portion) = portions.next() {
            let mut answer = within(REPORT_TIMEOUT, observe(&self.pool, portion, failures)).await;
            if answer.as_ref().is_err_and(QueueError::lost_a_race) {
                answer = within(REPORT_TIMEOUT, observe(&self.pool, portion, failures)).await;
            }
            match answer {
                Ok(report) => {
                    let is_passed_over =
                        |(id, _): &&(IntegrationId, Observed)| report.passed_over.contains(id);
                    let unreported = portion.iter().filter(is_passed_over).cloned().collect();
                    lock(&self.seen).keep(unreported);
                    self.apply(&report).await;
                }
                Err(error) => {
                    tracing::debug!(%error, "the breakers could not be updated: tried again later");
                    let unreported = portion.iter().chain(portions.flatten()).cloned().collect();
                    return lock(&self.seen).keep(unreported);
                }
            }
        }
    }

    async fn apply(&self, report: &Report) {
        lock(&self.seen).learn(&report.watched);
        report.changes.iter().for_each(Change::log);
        if report.lets_more_run {
            self.wake_ups.wake();
            // Other processes poll if this is lost.
            let _ = timeout(REPORT_TIMEOUT, wake_all(&self.pool)).await;
        }
    }
}
