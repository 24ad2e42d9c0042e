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

use crate::{
    error::QueueError,
    store::{
        breakers::{Observed, Report, Watched, observe, watched},
        jobs::{Completion, Ending},
    },
    wake,
    worker::{finish::finisher::Finished, state::shared::Shared},
};
use model::{
    breaker::BreakerState,
    id::IntegrationId,
    rules::{breaker::Outcome, masking::without_secrets, verdict::Verdict},
    text::sanitise,
};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::{Instant, MissedTickBehavior, timeout};
use tokio_util::sync::CancellationToken;

const READ_INTERVAL: Duration = Duration::from_secs(1);
/// A list of watched breakers older than this may miss one.
const STALE_AFTER: Duration = Duration::from_secs(5);
/// Results must not wait for a slow database. What could not be reported is reported the next time.
const REPORT_TIMEOUT: Duration = Duration::from_secs(3);
/// Integrations reported in one transaction: one for all those of a mass outage would exceed its time-out, and never succeed.
const MAX_REPORTED: usize = 50;
/// Unreported outcomes of one integration that are kept.
const MAX_KEPT: usize = 2_000;
/// Characters of an error in the reason for a breaker's state.
const ERROR_CHARS: usize = 200;

/// What this process knows of breakers, and has not reported yet.
#[derive(Default)]
pub(crate) struct Breakers {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    known: HashMap<IntegrationId, KnownBreaker>,
    unreported: HashMap<IntegrationId, Observed>,
    read_at: Option<Instant>,
    /// Counts reports: what they returned is newer than a read that began before.
    reports: u64,
}

#[derive(Clone, Copy)]
struct KnownBreaker {
    watched: Watched,
    reports: u64,
}

impl Breakers {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes a batch of ends; returns what has to be reported at once.
    fn take(&mut self, batch: &[Finished], failures: u32) -> Vec<(IntegrationId, Observed)> {
        let mut seen: BTreeMap<IntegrationId, Observed> = BTreeMap::new();
        let mut probed = HashSet::new();
        let counts_all = failures > 0;
        for finished in batch {
            let id = finished.end.integration_id;
            let Some(is_failure) = judge(finished) else { continue };
            let known = self.known.get(&id).map(|known| known.watched);
            let is_reported = match known {
                // Another process may have opened and half-opened it since our last read.
                _ if finished.job.is_probe => true,
                Some(known) => matters(&known, finished, counts_all),
                // It is not watched: the first failure of this batch and what follows counts, what came before does not.
                None => counts_all && (is_failure || seen.contains_key(&id)),
            };
            if !is_reported {
                continue;
            }
            if finished.job.is_probe {
                probed.insert(id);
            }
            let observed = seen.entry(id).or_default();
            let started_at = finished.job.started_at;
            observed.outcomes.push(Outcome { started_at, is_failure, count: 1 });
            if is_failure {
                observed.last_error = error_of(&finished.end.ending);
            }
        }
        let urgent_or_kept = |(id, observed)| self.urgent_or_kept(id, observed, probed.contains(&id));
        seen.into_iter().filter_map(urgent_or_kept).collect()
    }

    fn urgent_or_kept(
        &mut self,
        id: IntegrationId,
        observed: Observed,
        is_probed: bool,
    ) -> Option<(IntegrationId, Observed)> {
        let is_troubled = self.known.get(&id).is_some_and(|known| {
            known.watched.state != BreakerState::Closed || known.watched.failures_in_a_row > 0
        });
        let is_urgent =
            is_probed || is_troubled || observed.outcomes.iter().any(|outcome| outcome.is_failure);
        let mut all = self.unreported.remove(&id).unwrap_or_default();
        append(&mut all, observed);
        if is_urgent {
            return Some((id, all));
        }
        self.unreported.insert(id, all);
        None
    }

    fn keep(&mut self, seen: Vec<(IntegrationId, Observed)>) {
        for (id, mut observed) in seen {
            if let Some(later) = self.unreported.remove(&id) {
                append(&mut observed, later);
            }
            self.unreported.insert(id, observed);
        }
    }

    fn learn(&mut self, watched: &[Watched]) {
        self.reports += 1;
        for watched in watched {
            self.known
                .insert(watched.integration_id, KnownBreaker { watched: *watched, reports: self.reports });
        }
    }

    /// Takes the result of a read. What reports returned since it began is newer.
    fn replace(&mut self, found: Vec<Watched>, reports_before: u64) {
        self.known.retain(|_, known| known.reports > reports_before);
        for watched in found {
            self.known.entry(watched.integration_id).or_insert(KnownBreaker { watched, reports: 0 });
        }
        self.read_at = Some(Instant::now());
    }
}

/// Whether an end matters to a watched breaker: attempts that started before it opened do not.
fn matters(known: &Watched, finished: &Finished, counts_all: bool) -> bool {
    let is_newer = known.since.is_none_or(|since| finished.job.started_at >= since);
    is_newer && (counts_all || known.state != BreakerState::Closed)
}

fn append(all: &mut Observed, more: Observed) {
    all.outcomes.extend(more.outcomes);
    if more.last_error.is_some() {
        all.last_error = more.last_error;
    }
    let surplus = all.outcomes.len().saturating_sub(MAX_KEPT);
    all.outcomes.drain(..surplus);
}

/// Whether the external system failed; none: the end says nothing about it.
fn judge(finished: &Finished) -> Option<bool> {
    if finished.is_echo {
        return None;
    }
    match &finished.end.ending {
        Ending::Completed { how, .. } => (*how != Completion::Unchanged).then_some(false),
        Ending::Retried { failure, .. } | Ending::Dead { failure, .. } => match failure.verdict {
            Verdict::Completed => Some(false),
            Verdict::Retry { quiets_integration, .. } => (!quiets_integration).then_some(true),
            // Without a response nothing was sent: the address is not allowed, or the integration is gone.
            Verdict::GiveUp { .. } => failure.response.is_some().then_some(false),
        },
        Ending::Cancelled { .. } | Ending::Released { .. } => None,
    }
}

fn error_of(ending: &Ending) -> Option<String> {
    let (Ending::Retried { failure, .. } | Ending::Dead { failure, .. }) = ending else { return None };
    let line = failure.message.lines().next().unwrap_or_default();
    let line = without_secrets(line.trim().trim_end_matches('.').to_owned());
    Some(sanitise(&line, ERROR_CHARS)).filter(|line| !line.is_empty())
}

/// Reports to the breakers what a batch of ends says about their integrations, before the ends are recorded.
pub(crate) async fn report_ends(shared: &Shared, batch: &[Finished]) {
    if shared.is_away() {
        // Results are kept until it is back, and reported with the next ones.
        let later = shared.breakers.lock().take(batch, shared.config.breaker_failures);
        return shared.breakers.lock().keep(later);
    }
    let is_stale = shared.breakers.lock().read_at.is_none_or(|at| at.elapsed() > STALE_AFTER);
    if is_stale && batch.iter().any(|finished| judge(finished).is_some()) {
        read_watched(shared).await;
    }
    let urgent = shared.breakers.lock().take(batch, shared.config.breaker_failures);
    send_reports(shared, urgent).await;
}

/// Reads the watched breakers once a second and reports what was gathered, until the engine has ended.
pub(crate) async fn watch(shared: Arc<Shared>, over: CancellationToken) {
    let mut ticks = tokio::time::interval(READ_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let is_over = tokio::select! {
            () = over.cancelled() => true,
            _ = ticks.tick() => false,
        };
        let gathered: Vec<_> = {
            let mut state = shared.breakers.lock();
            // Sorted, because all processes must take the locks in one order.
            let all: BTreeMap<_, _> = state.unreported.drain().collect();
            all.into_iter().collect()
        };
        send_reports(&shared, gathered).await;
        if is_over {
            return;
        }
        read_watched(&shared).await;
    }
}

async fn read_watched(shared: &Shared) {
    let reports_before = shared.breakers.lock().reports;
    match in_time(watched(&shared.pool)).await {
        Ok(found) => shared.breakers.lock().replace(found, reports_before),
        Err(error) => tracing::debug!(%error, "the watched breakers could not be read"),
    }
}

async fn send_reports(shared: &Shared, seen: Vec<(IntegrationId, Observed)>) {
    if seen.is_empty() {
        return;
    }
    let failures = i32::try_from(shared.config.breaker_failures).unwrap_or(i32::MAX);
    let mut chunks = seen.chunks(MAX_REPORTED);
    while let Some(chunk) = chunks.next() {
        let mut answer = in_time(observe(&shared.pool, chunk, failures)).await;
        if answer.as_ref().is_err_and(QueueError::lost_a_race) {
            answer = in_time(observe(&shared.pool, chunk, failures)).await;
        }
        match answer {
            Ok(report) => {
                let is_passed_over = |(id, _): &&(IntegrationId, Observed)| report.passed_over.contains(id);
                let unreported = chunk.iter().filter(is_passed_over).cloned().collect();
                shared.breakers.lock().keep(unreported);
                apply(shared, &report).await;
            }
            Err(error) => {
                tracing::debug!(%error, "the breakers could not be updated: tried again later");
                let unreported = chunk.iter().chain(chunks.flatten()).cloned().collect();
                return shared.breakers.lock().keep(unreported);
            }
        }
    }
}

async fn apply(shared: &Shared, report: &Report) {
    shared.breakers.lock().learn(&report.watched);
    report.changes.iter().for_each(crate::store::breakers::Change::log);
    if report.lets_more_run {
        shared.work.notify_one();
        // Other processes poll if this is lost.
        let _ = timeout(REPORT_TIMEOUT, wake::all(&shared.pool)).await;
    }
}

async fn in_time<T>(asked: impl Future<Output = Result<T, QueueError>>) -> Result<T, QueueError> {
    timeout(REPORT_TIMEOUT, asked).await.unwrap_or_else(|_| Err(QueueError::no_answer()))
}
