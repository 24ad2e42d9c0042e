//! When a circuit breaker opens, probes, ramps up and closes. Pure: outcomes of attempts go in, changes of state come out.
//!
//! - **Closed** counts consecutive failures, and the attempts of the last minute. It opens on `HEADGATE_BREAKER_FAILURES` in a row, or when at least
//!   half of at least five times as many attempts failed: by default 20 in a row, or 50 of 100. The rate needs a hundred attempts because a system
//!   that fails three times in ten would, by chance, fail half of a few dozen every hour, but never half of a hundred.
//! - **Open** lets nothing run. It waits 30 s, doubled each time it opens in a row, up to 15 minutes; up to a fifth of that is subtracted at random,
//!   so that integrations of one system do not return together. An operator's hold ends at its own time.
//! - **Half-open** lets [`PROBES`] jobs through: as many run at once as successes are missing, so that no more are risked. One failure opens it.
//! - **Ramping** doubles the number of jobs at once after as many successes, or after ten seconds without trouble, up to `max_concurrency`, where it
//!   closes. It opens again when more attempts of a step fail than succeed, and at least three.
//!
//! Attempts that began before the last change of state say nothing about the new state and are ignored.

mod recent;

pub use recent::Recent;

use super::plain_cause;
use crate::breaker::{Breaker, BreakerAction, BreakerState};
use chrono::{DateTime, TimeDelta, Utc};

/// Successes that close the circuit again, and the maximum of probes at once.
pub const PROBES: i32 = 3;
/// How long it stays open the first time.
pub const FIRST_WAIT: TimeDelta = TimeDelta::seconds(30);
/// How long it stays open at most.
pub const MAX_WAIT: TimeDelta = TimeDelta::minutes(15);
/// Random part of the wait.
const JITTER: f64 = 0.2;
/// Length of a step of the ramp, unless enough successes end it before.
pub const STEP: TimeDelta = TimeDelta::seconds(10);
/// The rate needs so many times the attempts of the failures in a row: by default 100, as in Resilience4j.
const ATTEMPTS_PER_FAILURE: i64 = 5;
/// Failures are forgotten when the last one is this old.
const FORGOTTEN_AFTER: TimeDelta = TimeDelta::hours(1);

/// Attempts of one integration with the same result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// When the first of them began.
    pub started_at: DateTime<Utc>,
    /// Whether the external system failed. A refused request is not a failure: the system answered.
    pub is_failure: bool,
    /// Number of attempts.
    pub count: i32,
}

/// Finished attempts of an integration, in order.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The attempts.
    pub outcomes: &'a [Outcome],
    /// Error of the last failure.
    pub last_error: Option<&'a str>,
}

/// Settings of an integration's breaker.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Consecutive failures that open it; 0: it never opens by itself.
    pub failures: i32,
    /// Where the ramp ends.
    pub max_concurrency: i32,
    /// In [0, 1), for the jitter of the wait.
    pub random: f64,
}

/// A change of state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flip {
    /// State before.
    pub from: BreakerState,
    /// State after.
    pub to: BreakerState,
    /// As a sentence.
    pub reason: String,
}

/// A breaker with its counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Circuit {
    /// The part that the API shows.
    pub breaker: Breaker,
    /// How often it opened since it was closed.
    pub times_opened: i32,
    /// Half-open: probes that succeeded. Ramping: successes of this step.
    pub successes: i32,
    /// Ramping: failures of this step.
    pub failures: i32,
    /// Ramping: when this step began.
    pub step_at: Option<DateTime<Utc>>,
    /// The last failure that was counted.
    pub failed_at: Option<DateTime<Utc>>,
    /// Closed: attempts that the failure rate is computed from.
    pub recent: Recent,
}

impl Circuit {
    /// Counts outcomes; returns the changes of state, in order.
    pub fn observe(&mut self, seen: &Seen<'_>, rule: &Rule, now: DateTime<Utc>) -> Vec<Flip> {
        let mut flips = Vec::new();
        for outcome in seen.outcomes {
            if self.breaker.since.is_some_and(|since| outcome.started_at < since) {
                continue;
            }
            let flip = match self.breaker.state {
                BreakerState::Closed if rule.failures <= 0 => None,
                BreakerState::Closed => self.observe_closed(outcome, seen.last_error, rule, now),
                BreakerState::Open => None,
                BreakerState::HalfOpen => self.observe_probe(outcome, seen.last_error, rule, now),
                BreakerState::Ramping => self.observe_ramping(outcome, seen.last_error, rule, now),
            };
            flips.extend(flip);
        }
        flips
    }

    /// Changes that depend only on time: the end of a wait or of a step of the ramp, failures that are too old.
    pub fn tick(&mut self, max_concurrency: i32, now: DateTime<Utc>) -> Option<Flip> {
        match self.breaker.state {
            BreakerState::Open if self.breaker.probe_at.is_some_and(|at| at <= now) => {
                let why =
                    if self.breaker.held_until.is_some() { "the hold is over" } else { "the wait is over" };
                Some(self.half_open(format!("{why}: {PROBES} probes decide"), now))
            }
            BreakerState::Ramping if self.step_at.is_none_or(|at| at + STEP <= now) => {
                if self.failures > self.successes {
                    self.begin_step(now);
                    return None;
                }
                self.step_up(max_concurrency, now)
            }
            BreakerState::Closed if self.failed_at.is_none_or(|at| at + FORGOTTEN_AFTER <= now) => {
                self.breaker.failures_in_a_row = 0;
                self.recent = Recent::default();
                None
            }
            _ => None,
        }
    }

    /// Applies an operator's action. `until` is given with a hold.
    pub fn steer(
        &mut self,
        action: BreakerAction,
        until: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Option<Flip> {
        match (action, self.breaker.state) {
            (BreakerAction::Probe, BreakerState::Open) => {
                Some(self.half_open(format!("requested by hand: {PROBES} probes decide"), now))
            }
            (BreakerAction::Probe, _) => None,
            (BreakerAction::Close, BreakerState::Closed) => {
                self.breaker.failures_in_a_row = 0;
                self.recent = Recent::default();
                None
            }
            (BreakerAction::Close, _) => Some(self.close("closed by hand".to_owned(), now)),
            (BreakerAction::Hold, _) => {
                let until = until.unwrap_or(now);
                let reason = format!("held open by hand until {} UTC", until.format("%Y-%m-%d %H:%M:%S"));
                Some(self.open(until, Some(until), reason, now))
            }
        }
    }

    /// For a changed endpoint, or when somebody says that it works again: earlier outcomes no longer count, and an open circuit is probed at once
    /// unless an operator holds it open.
    pub fn restart(&mut self, why: &str, now: DateTime<Utc>) -> Option<Flip> {
        self.breaker.failures_in_a_row = 0;
        self.recent = Recent::default();
        self.times_opened = 0;
        let is_waiting = self.breaker.state == BreakerState::Open && self.breaker.held_until.is_none();
        is_waiting.then(|| self.half_open(format!("{why}: {PROBES} probes decide"), now))
    }

    /// False for a closed circuit without recent failures, which needs no [`Self::tick`].
    #[must_use]
    pub fn is_watched(&self, now: DateTime<Utc>) -> bool {
        self.breaker.state != BreakerState::Closed
            || self.breaker.failures_in_a_row > 0
            || self.recent.at(now).failures() > 0
    }

    fn count_in_a_row(&mut self, outcome: &Outcome, now: DateTime<Utc>) {
        if outcome.is_failure {
            self.failed_at = Some(now);
            self.breaker.failures_in_a_row = self.breaker.failures_in_a_row.saturating_add(outcome.count);
        } else {
            self.breaker.failures_in_a_row = 0;
        }
    }

    fn observe_closed(
        &mut self,
        outcome: &Outcome,
        last_error: Option<&str>,
        rule: &Rule,
        now: DateTime<Utc>,
    ) -> Option<Flip> {
        self.count_in_a_row(outcome, now);
        self.recent = self.recent.at(now);
        self.recent.add(outcome);
        if !outcome.is_failure {
            return None;
        }
        let (attempts, failures) = (self.recent.attempts(), self.recent.failures());
        let what = if self.breaker.failures_in_a_row >= rule.failures {
            match self.breaker.failures_in_a_row {
                1 => ("an attempt failed".to_owned(), true),
                n => (format!("{n} attempts in a row failed"), false),
            }
        } else if attempts >= ATTEMPTS_PER_FAILURE * i64::from(rule.failures) && failures * 2 >= attempts {
            (format!("{failures} of {attempts} attempts within a minute failed"), false)
        } else {
            return None;
        };
        Some(self.open_after(what, last_error, rule.random, now))
    }

    fn observe_probe(
        &mut self,
        outcome: &Outcome,
        last_error: Option<&str>,
        rule: &Rule,
        now: DateTime<Utc>,
    ) -> Option<Flip> {
        self.count_in_a_row(outcome, now);
        if outcome.is_failure {
            return Some(self.open_after(("a probe failed".to_owned(), true), last_error, rule.random, now));
        }
        self.successes = self.successes.saturating_add(outcome.count);
        self.breaker.at_once = Some((PROBES - self.successes).max(0));
        if self.successes < PROBES {
            return None;
        }
        let next = PROBES * 2;
        if next >= rule.max_concurrency {
            return Some(self.close(format!("{PROBES} probes succeeded"), now));
        }
        self.breaker.at_once = Some(next);
        self.begin_step(now);
        let reason = format!("{PROBES} probes succeeded: {next} jobs at once for now");
        Some(self.flip(BreakerState::Ramping, reason, now))
    }

    fn observe_ramping(
        &mut self,
        outcome: &Outcome,
        last_error: Option<&str>,
        rule: &Rule,
        now: DateTime<Utc>,
    ) -> Option<Flip> {
        self.count_in_a_row(outcome, now);
        if outcome.is_failure {
            self.failures = self.failures.saturating_add(outcome.count);
            if self.failures < PROBES || self.failures <= self.successes {
                return None;
            }
            let tried = self.failures.saturating_add(self.successes);
            let what = format!("{} of {tried} attempts failed while it ramped up", self.failures);
            return Some(self.open_after((what, false), last_error, rule.random, now));
        }
        self.successes = self.successes.saturating_add(outcome.count);
        if self.breaker.at_once.is_some_and(|at_once| self.successes < at_once) {
            return None;
        }
        self.step_up(rule.max_concurrency, now)
    }

    fn begin_step(&mut self, now: DateTime<Utc>) {
        self.step_at = Some(now);
        self.successes = 0;
        self.failures = 0;
    }

    fn step_up(&mut self, max_concurrency: i32, now: DateTime<Utc>) -> Option<Flip> {
        self.begin_step(now);
        let next = self.breaker.at_once.unwrap_or(PROBES).saturating_mul(2);
        if next >= max_concurrency {
            return Some(self.close(format!("ramped up to {max_concurrency} at once"), now));
        }
        self.breaker.at_once = Some(next);
        None
    }

    /// Opens after a failure. The reason has the last error; of several attempts, it says that it is the last.
    fn open_after(
        &mut self,
        (what, is_one): (String, bool),
        last_error: Option<&str>,
        random: f64,
        now: DateTime<Utc>,
    ) -> Flip {
        let reason = match last_error.map(|error| plain_cause::sentence(error, None)) {
            Some(error) if is_one => format!("{what}: {error}"),
            Some(error) => format!("{what}; the last: {error}"),
            None => what,
        };
        self.times_opened = self.times_opened.saturating_add(1);
        let wait = wait(self.times_opened, random);
        self.open(now + wait, None, reason, now)
    }

    fn open(
        &mut self,
        probe_at: DateTime<Utc>,
        held_until: Option<DateTime<Utc>>,
        reason: String,
        now: DateTime<Utc>,
    ) -> Flip {
        self.recent = Recent::default();
        let flip = self.flip(BreakerState::Open, reason, now);
        self.breaker.probe_at = Some(probe_at);
        self.breaker.held_until = held_until;
        self.breaker.at_once = Some(0);
        flip
    }

    fn half_open(&mut self, reason: String, now: DateTime<Utc>) -> Flip {
        let flip = self.flip(BreakerState::HalfOpen, reason, now);
        self.successes = 0;
        self.breaker.at_once = Some(PROBES);
        flip
    }

    fn close(&mut self, reason: String, now: DateTime<Utc>) -> Flip {
        let flip = self.flip(BreakerState::Closed, reason, now);
        self.breaker.at_once = None;
        self.breaker.failures_in_a_row = 0;
        self.times_opened = 0;
        self.recent = Recent::default();
        flip
    }

    fn flip(&mut self, to: BreakerState, reason: String, now: DateTime<Utc>) -> Flip {
        let from = std::mem::replace(&mut self.breaker.state, to);
        self.breaker.since = Some(now);
        self.breaker.probe_at = None;
        self.breaker.held_until = None;
        self.breaker.reason = Some(reason.clone());
        Flip { from, to, reason }
    }
}

/// How long it stays open the n-th time in a row.
fn wait(times_opened: i32, random: f64) -> TimeDelta {
    let doublings = u32::try_from(times_opened.saturating_sub(1)).unwrap_or(0).min(10);
    let whole = (FIRST_WAIT * 2_i32.saturating_pow(doublings)).min(MAX_WAIT);
    let ms = whole.num_milliseconds() as f64 * (1.0 - JITTER * random.clamp(0.0, 1.0));
    TimeDelta::milliseconds(ms as i64)
}

#[cfg(test)]
mod tests;
