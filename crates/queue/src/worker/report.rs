//! How one process's engine is doing, for whoever watches it: `/readyz` and `/metrics`.

use super::{clock_skew, meters::Rounds, shared::Shared};
use chrono::TimeDelta;
use std::{sync::Arc, time::Duration};

/// Nothing of the claimer's takes so long, a poll of the database and waiting for its answers included.
const CLAIMER_PATIENCE: Duration = Duration::from_secs(90);
/// Results that are not recorded for so long although the database answers are stuck.
const RESULTS_PATIENCE: Duration = Duration::from_secs(90);
/// A process that is not registered for longer does no work, whatever the reason.
const REGISTRATION_PATIENCE: Duration = Duration::from_secs(30);

/// Reads the report of a running engine, also while it stops. Cheap to clone.
#[derive(Clone)]
pub struct EngineWatch(Arc<Shared>);

/// One engine at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EngineReport {
    /// Jobs it may run at once.
    pub slots: usize,
    /// Jobs that run.
    pub running: usize,
    /// Results that wait to be recorded.
    pub unrecorded: usize,
    /// Of these, the ones whose rows other transactions hold: they wait until those end.
    pub held: usize,
    /// How long none of them was; nought when none waits, or only those that are held.
    pub unrecorded_for: Duration,
    /// Handlers that did not stop when their time was over.
    pub blocked: usize,
    /// The loop that has stopped by a fault, if one has.
    pub stuck: Option<&'static str>,
    /// Ends recorded since the start.
    pub recorded: u64,
    /// Whether its lease holds.
    pub is_registered: bool,
    /// How long it has not, in a process that should have one; nought while it does.
    pub unregistered_for: Duration,
    /// An operator asked it to claim nothing more.
    pub is_draining: bool,
    /// It ends: nothing is claimed any more.
    pub is_stopping: bool,
    /// The database could not be reached when a result was to be recorded.
    pub is_away: bool,
    /// How long ago the claimer last began a round.
    pub claimer_silent_for: Duration,
    /// How far this host's clock is ahead of the database's, as the last heartbeat proved it; negative: behind.
    pub clock_ahead: TimeDelta,
    /// Leases lost since the start.
    pub lost_leases: u64,
    /// Claims.
    pub claims: Rounds,
    /// Transactions that recorded results.
    pub finishes: Rounds,
}

impl EngineWatch {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self(shared)
    }

    /// How it is doing now.
    #[must_use]
    pub fn report(&self) -> EngineReport {
        let shared = &*self.0;
        let meters = &shared.meters;
        let (unrecorded, held) = (shared.unrecorded(), shared.held());
        let is_registered = *shared.is_registered.borrow();
        EngineReport {
            slots: shared.config.workers,
            running: shared.running(),
            unrecorded,
            blocked: shared.attempts.blocked(),
            stuck: shared.stuck(),
            held,
            unrecorded_for: if unrecorded > held { meters.results_wait_for() } else { Duration::ZERO },
            recorded: *shared.recorded.borrow(),
            is_registered,
            // The claimer waits for nothing else while there is no lease, and moves on once there is one.
            unregistered_for: if is_registered { Duration::ZERO } else { meters.claimer_silent_for() },
            is_draining: shared.is_draining(),
            is_stopping: shared.no_more_claims.is_cancelled(),
            is_away: shared.is_away(),
            claimer_silent_for: meters.claimer_silent_for(),
            clock_ahead: meters.clock_ahead(),
            lost_leases: meters.lost_leases(),
            claims: meters.claims(),
            finishes: meters.finishes(),
        }
    }
}

impl EngineReport {
    /// What is to be said of this host's clock; none while it shows the database's time.
    #[must_use]
    pub fn clock_skew(&self) -> Option<String> {
        clock_skew::in_words(self.clock_ahead)
    }

    /// Why it does not do its work, in words for operators; none while it does, or was told not to.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        if let Some(part) = self.stuck {
            return Some(format!("{part} has stopped by a fault: this process records nothing more"));
        }
        if self.unrecorded_for > RESULTS_PATIENCE && !self.is_away {
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
            return (self.unregistered_for > REGISTRATION_PATIENCE).then(|| {
                let seconds = self.unregistered_for.as_secs();
                format!("holds no lease for {seconds} s: it cannot register as a worker and claims nothing")
            });
        }
        (self.claimer_silent_for > CLAIMER_PATIENCE)
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
            // The database's own check says so.
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
