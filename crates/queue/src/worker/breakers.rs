//! What this process sees of the external systems, as their circuit breakers are told.
//!
//! A job that succeeds costs nothing here: its integration is looked up in a map that is empty while all is well. Only when an attempt failed, or
//! when the integration's breaker is watched (it is not closed, or another process saw a failure lately: read once a second), a short
//! transaction tells what ended. It comes before the ends are recorded, so that of a half-open circuit no further job is claimed for one whose
//! success is not counted yet, and of a failing one none for the attempt that opens it. What a closed circuit without a row of failures is told
//! of successes, for the rate alone, is gathered for a second.
//!
//! A system that refuses a request (4xx) is alive: that counts as a success. 429 counts as neither, having a hold of its own, and so does
//! what never reached the system: given back, called off, unchanged, taken away.

use crate::{
    error::QueueError,
    store::{
        breakers::{Observed, Report, Watched, observe, watched},
        jobs::{Ending, How},
    },
    wake,
    worker::{finisher::Finished, shared::Shared},
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

/// Between two looks at the watched breakers.
const READ_EVERY: Duration = Duration::from_secs(1);
/// What was read longer ago may miss a breaker.
const STALE_AFTER: Duration = Duration::from_secs(5);
/// The database has this long to answer: results must not wait for it. What was not told is told the next time.
const PATIENCE: Duration = Duration::from_secs(3);
/// Integrations told of in one transaction: one for all of a mass outage would take longer than it may, and never succeed.
const AT_ONCE: usize = 50;
/// Outcomes of one integration that are kept for the next time.
const MOST_KEPT: usize = 2_000;
/// Characters of an error that stand in a reason.
const ERROR_CHARS: usize = 200;

/// What this process knows of breakers, and has not told yet.
#[derive(Default)]
pub(super) struct Breakers {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    known: HashMap<IntegrationId, Known>,
    untold: HashMap<IntegrationId, Observed>,
    read_at: Option<Instant>,
    /// Counts what we learned by telling: a look that began before does not know it.
    told: u64,
}

#[derive(Clone, Copy)]
struct Known {
    watched: Watched,
    told: u64,
}

impl Breakers {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes in what ended; what has to be told at once comes back.
    fn take(&mut self, batch: &[Finished], failures: u32) -> Vec<(IntegrationId, Observed)> {
        let mut seen: BTreeMap<IntegrationId, Observed> = BTreeMap::new();
        let mut probed = HashSet::new();
        let counts_all = failures > 0;
        for finished in batch {
            let id = finished.end.integration_id;
            let Some(is_failure) = judge(finished) else { continue };
            let known = self.known.get(&id).map(|known| known.watched);
            let is_told = match known {
                // Another process may have opened and half-opened it since we looked.
                _ if finished.job.is_probe => true,
                Some(known) => says_something(&known, finished, counts_all),
                // Nothing is known against it: a failure begins something, what came before it in this batch does not matter.
                None => counts_all && (is_failure || seen.contains_key(&id)),
            };
            if !is_told {
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
        let mut all = self.untold.remove(&id).unwrap_or_default();
        append(&mut all, observed);
        if is_urgent {
            return Some((id, all));
        }
        self.untold.insert(id, all);
        None
    }

    fn keep(&mut self, seen: Vec<(IntegrationId, Observed)>) {
        for (id, mut observed) in seen {
            if let Some(later) = self.untold.remove(&id) {
                append(&mut observed, later);
            }
            self.untold.insert(id, observed);
        }
    }

    fn learn(&mut self, watched: &[Watched]) {
        self.told += 1;
        for watched in watched {
            self.known.insert(watched.integration_id, Known { watched: *watched, told: self.told });
        }
    }

    /// What a look found. What we were told since it began is newer.
    fn replace(&mut self, found: Vec<Watched>, told_before: u64) {
        self.known.retain(|_, known| known.told > told_before);
        for watched in found {
            self.known.entry(watched.integration_id).or_insert(Known { watched, told: 0 });
        }
        self.read_at = Some(Instant::now());
    }
}

/// Whether an end tells a watched breaker anything: an open one learns nothing from what began before it opened.
fn says_something(known: &Watched, finished: &Finished, counts_all: bool) -> bool {
    let is_newer = known.since.is_none_or(|since| finished.job.started_at >= since);
    is_newer && (counts_all || known.state != BreakerState::Closed)
}

fn append(all: &mut Observed, more: Observed) {
    all.outcomes.extend(more.outcomes);
    if more.last_error.is_some() {
        all.last_error = more.last_error;
    }
    let surplus = all.outcomes.len().saturating_sub(MOST_KEPT);
    all.outcomes.drain(..surplus);
}

/// Whether the external system failed; none: nothing is learned about it.
fn judge(finished: &Finished) -> Option<bool> {
    if finished.is_echo {
        return None;
    }
    match &finished.end.ending {
        Ending::Completed { how, .. } => (*how != How::Unchanged).then_some(false),
        Ending::Retried { failure, .. } | Ending::Dead { failure, .. } => match failure.verdict {
            Verdict::Completed => Some(false),
            Verdict::Retry { holds_integration, .. } => (!holds_integration).then_some(true),
            // Without an answer nothing was sent: an address that is not allowed, an integration that is gone.
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

/// Tells the breakers what a batch of ends says about their integrations: before the ends are recorded.
pub(super) async fn tell_of(shared: &Shared, batch: &[Finished]) {
    if shared.is_away() {
        // Results are kept until it is back; what they say is told with the next ones.
        let later = shared.breakers.lock().take(batch, shared.config.breaker_failures);
        return shared.breakers.lock().keep(later);
    }
    let is_stale = shared.breakers.lock().read_at.is_none_or(|at| at.elapsed() > STALE_AFTER);
    if is_stale && batch.iter().any(|finished| judge(finished).is_some()) {
        look(shared).await;
    }
    let urgent = shared.breakers.lock().take(batch, shared.config.breaker_failures);
    tell(shared, urgent).await;
}

/// Looks at the watched breakers once a second and tells what was gathered, until the engine has ended.
pub(super) async fn watch(shared: Arc<Shared>, over: CancellationToken) {
    let mut ticks = tokio::time::interval(READ_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let is_over = tokio::select! {
            () = over.cancelled() => true,
            _ = ticks.tick() => false,
        };
        let gathered: Vec<_> = {
            let mut state = shared.breakers.lock();
            // In one order everywhere, as locks are taken.
            let all: BTreeMap<_, _> = state.untold.drain().collect();
            all.into_iter().collect()
        };
        tell(&shared, gathered).await;
        if is_over {
            return;
        }
        look(&shared).await;
    }
}

async fn look(shared: &Shared) {
    let told_before = shared.breakers.lock().told;
    match in_time(watched(&shared.pool)).await {
        Ok(found) => shared.breakers.lock().replace(found, told_before),
        Err(error) => tracing::debug!(%error, "the breakers could not be looked at"),
    }
}

async fn tell(shared: &Shared, seen: Vec<(IntegrationId, Observed)>) {
    if seen.is_empty() {
        return;
    }
    let failures = i32::try_from(shared.config.breaker_failures).unwrap_or(i32::MAX);
    let mut chunks = seen.chunks(AT_ONCE);
    while let Some(chunk) = chunks.next() {
        let mut answer = in_time(observe(&shared.pool, chunk, failures)).await;
        if answer.as_ref().is_err_and(QueueError::lost_a_race) {
            answer = in_time(observe(&shared.pool, chunk, failures)).await;
        }
        match answer {
            Ok(report) => {
                let is_passed_over = |(id, _): &&(IntegrationId, Observed)| report.passed_over.contains(id);
                let untold = chunk.iter().filter(is_passed_over).cloned().collect();
                shared.breakers.lock().keep(untold);
                learned(shared, &report).await;
            }
            Err(error) => {
                tracing::debug!(%error, "the breakers could not be told what was seen: later");
                let untold = chunk.iter().chain(chunks.flatten()).cloned().collect();
                return shared.breakers.lock().keep(untold);
            }
        }
    }
}

async fn learned(shared: &Shared, report: &Report) {
    shared.breakers.lock().learn(&report.watched);
    report.changes.iter().for_each(crate::store::breakers::Change::tell);
    if report.lets_more_run {
        shared.work.notify_one();
        // The others poll if they do not hear it.
        let _ = timeout(PATIENCE, wake::all(&shared.pool)).await;
    }
}

async fn in_time<T>(asked: impl Future<Output = Result<T, QueueError>>) -> Result<T, QueueError> {
    timeout(PATIENCE, asked).await.unwrap_or_else(|_| Err(QueueError::no_answer()))
}
