//! What this process knows of the circuit breakers, and what it has seen and not reported yet.

use crate::store::breakers::{Observed, Watched};
use crate::store::jobs::{Completion, Ending};
use crate::worker::finish::Finished;
use model::{
    breaker::BreakerState,
    id::IntegrationId,
    rules::{breaker::Outcome, masking::without_secrets, verdict::Verdict},
    text::sanitise,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;
use tokio::time::Instant;

/// Unreported outcomes of one integration that are kept.
const MAX_KEPT: usize = 2_000;
/// Characters of an error in the reason for a breaker's state.
const ERROR_CHARS: usize = 200;

#[derive(Default)]
pub(super) struct Seen {
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

impl Seen {
    /// Whether the list of watched breakers is older than this, or was never read.
    pub(super) fn is_older_than(&self, age: Duration) -> bool {
        self.read_at.is_none_or(|at| at.elapsed() > age)
    }

    /// How many reports were made.
    pub(super) fn reports(&self) -> u64 {
        self.reports
    }

    /// Takes all that is not reported yet, sorted, because all processes must take the locks in one order.
    pub(super) fn take_unreported(&mut self) -> Vec<(IntegrationId, Observed)> {
        let all: BTreeMap<_, _> = self.unreported.drain().collect();
        all.into_iter().collect()
    }

    /// Takes a batch of ends; returns what has to be reported at once.
    pub(super) fn take(&mut self, batch: &[Finished], failures: u32) -> Vec<(IntegrationId, Observed)> {
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

    pub(super) fn keep(&mut self, seen: Vec<(IntegrationId, Observed)>) {
        for (id, mut observed) in seen {
            if let Some(later) = self.unreported.remove(&id) {
                append(&mut observed, later);
            }
            self.unreported.insert(id, observed);
        }
    }

    pub(super) fn learn(&mut self, watched: &[Watched]) {
        self.reports += 1;
        for watched in watched {
            self.known
                .insert(watched.integration_id, KnownBreaker { watched: *watched, reports: self.reports });
        }
    }

    /// Takes the result of a read. What reports returned since it began is newer.
    pub(super) fn replace(&mut self, found: Vec<Watched>, reports_before: u64) {
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
pub(super) fn judge(finished: &Finished) -> Option<bool> {
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
