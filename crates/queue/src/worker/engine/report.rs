//! The state of a process's engine, for `/readyz` and `/metrics`.

use crate::worker::{engine::parts::Parts, heartbeat, state::Rounds};
use chrono::TimeDelta;
use std::{sync::Arc, time::Duration};

/// No round of the claimer takes this long, including its wait for the database.
const CLAIMER_TIMEOUT: Duration = Duration::from_secs(90);
/// Results that are not recorded after this, although the database answers, are stuck.
const RESULTS_TIMEOUT: Duration = Duration::from_secs(90);
/// A process without a registration for longer than this is in trouble, whatever the reason.
const REGISTRATION_TIMEOUT: Duration = Duration::from_secs(30);

/// Reads the report of a running engine, also while it stops. Cheap to clone.
#[derive(Clone)]
pub struct EngineWatch(Arc<Parts>);

/// The state of an engine at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EngineReport {
    /// Most jobs it runs at once.
    pub slots: usize,
    /// Running jobs.
    pub running: usize,
    /// Results that wait to be recorded.
    pub unrecorded: usize,
    /// How many of these wait for a row that is locked by another transaction.
    pub locked_elsewhere: usize,
    /// How long none of them was recorded; zero when none waits, or only those that are locked elsewhere.
    pub unrecorded_for: Duration,
    /// Handlers that did not stop at their time-out.
    pub blocked: usize,
    /// The loop that has stopped because of a fault, if any.
    pub stuck: Option<&'static str>,
    /// Ends recorded since the start.
    pub recorded: u64,
    /// Whether it has its lease.
    pub is_registered: bool,
    /// How long it has had no lease; zero while it has one.
    pub unregistered_for: Duration,
    /// An operator asked it to claim nothing more.
    pub is_draining: bool,
    /// It is shutting down, and claims nothing more.
    pub is_stopping: bool,
    /// The database was away when a result was to be recorded.
    pub is_away: bool,
    /// How long ago the claimer last began a round.
    pub claimer_silent_for: Duration,
    /// How far this host's clock is ahead of the database's, as the last heartbeat proved it; negative: behind.
    pub clock_ahead: TimeDelta,
    /// Leases lost since the start.
    pub lost_leases: u64,
    /// Claims since the start.
    pub claims: Rounds,
    /// Transactions that recorded results since the start.
    pub finishes: Rounds,
}

impl EngineWatch {
    pub(super) fn new(parts: Arc<Parts>) -> Self {
        Self(parts)
    }

    /// The state now.
    #[must_use]
    pub fn report(&self) -> EngineReport {
        let parts = &*self.0;
        let meters = &parts.meters;
        let (unrecorded, locked_elsewhere) = (parts.results.unrecorded(), parts.results.locked_elsewhere());
        let is_registered = parts.lease.is_registered();
        EngineReport {
            slots: parts.config.workers,
            running: parts.running.count(),
            unrecorded,
            blocked: parts.attempts.blocked(),
            stuck: parts.watchdog.stuck(),
            locked_elsewhere,
            unrecorded_for: if unrecorded > locked_elsewhere {
                meters.results_wait_for()
            } else {
                Duration::ZERO
            },
            recorded: *parts.results.recorded().borrow(),
            is_registered,
            // Without a lease the claimer only waits for one, so its silence is as long.
            unregistered_for: if is_registered { Duration::ZERO } else { meters.claimer_silent_for() },
            is_draining: parts.lease.is_draining(),
            is_stopping: parts.no_more_claims.is_cancelled(),
            is_away: parts.availability.is_away(),
            claimer_silent_for: meters.claimer_silent_for(),
            clock_ahead: meters.clock_ahead(),
            lost_leases: parts.lease.lost_count(),
            claims: meters.claims(),
            finishes: meters.finishes(),
        }
    }
}

impl EngineReport {
    /// A sentence about this host's clock; none while it agrees with the database's.
    #[must_use]
    pub fn clock_skew(&self) -> Option<String> {
        heartbeat::in_words(self.clock_ahead)
    }

    /// Why it does no work, as a sentence for operators; none while it does, or is not supposed to.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        if let Some(part) = self.stuck {
            return Some(format!("{part} has stopped because of a fault: this process records nothing more"));
        }
        if self.unrecorded_for > RESULTS_TIMEOUT && !self.is_away {
            let seconds = self.unrecorded_for.as_secs();
            return Some(format!(
                "{} results have not been recorded for {seconds} s although the database answers",
                self.unrecorded
            ));
        }
        if self.is_stopping {
            return None;
        }
        if !self.is_registered {
            return (self.unregistered_for > REGISTRATION_TIMEOUT).then(|| {
                let seconds = self.unregistered_for.as_secs();
                format!("holds no lease for {seconds} s: it cannot register as a worker and claims nothing")
            });
        }
        (self.claimer_silent_for > CLAIMER_TIMEOUT)
            .then(|| format!("has not asked for jobs for {} s", self.claimer_silent_for.as_secs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_in_trouble_when_it_should_work_and_does_not() {
        let seconds = Duration::from_secs;
        let well = EngineReport { slots: 10, is_registered: true, ..EngineReport::default() };
        let no_lease = EngineReport { is_registered: false, unregistered_for: seconds(31), ..well.clone() };
        let stuck = EngineReport { unrecorded: 3, unrecorded_for: seconds(91), ..well.clone() };
        let silent = EngineReport { claimer_silent_for: seconds(91), ..well.clone() };
        for (report, words) in [
            (well.clone(), None),
            (EngineReport { unregistered_for: seconds(5), is_registered: false, ..well.clone() }, None),
            (no_lease.clone(), Some("holds no lease for 31 s")),
            (EngineReport { is_stopping: true, ..no_lease }, None),
            (EngineReport { unrecorded: 3, unrecorded_for: seconds(60), ..well }, None),
            (stuck.clone(), Some("3 results have not been recorded for 91 s")),
            // The readiness check of the database reports that.
            (EngineReport { is_away: true, ..stuck.clone() }, None),
            (EngineReport { is_stopping: true, ..stuck }, Some("3 results")),
            (EngineReport { stuck: Some("claimer"), ..silent.clone() }, Some("claimer has stopped")),
            (silent.clone(), Some("has not asked for jobs for 91 s")),
            (EngineReport { is_stopping: true, ..silent }, None),
        ] {
            let trouble = report.trouble();
            assert_eq!(trouble.is_some(), words.is_some(), "{report:?}");
            assert!(trouble.unwrap_or_default().starts_with(words.unwrap_or("")), "{report:?}");
        }
    }
}
