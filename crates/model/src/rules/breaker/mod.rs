//! When a circuit breaker opens, probes, ramps up and closes. Pure: what was seen goes in, the new state comes out.
//!
//! - **Closed** counts failures in a row, and attempts of the last minute. It opens on `HEADGATE_BREAKER_FAILURES` in a row, or when at least
//!   half of at least five times as many attempts failed: by default 20 in a row, or 50 of 100. A hundred attempts, because a system that
//!   fails three times in ten would reach one half of a few dozen by chance every hour, and that of a hundred never.
//! - **Open** lets nothing run. It waits 30 s, twice as long each time it opens in a row, 15 minutes at most; up to a fifth of that is taken
//!   off at random, so that integrations of one system do not come back together. An operator's hold ends when it says.
//! - **Half-open** lets [`PROBES`] jobs through: as many run as successes are missing, so that never more are spent. One failure opens again.
//! - **Ramping** lets twice as many run at once after as many successes, or after ten seconds without trouble, up to
//!   `max_concurrency`, which closes it. It opens again when more attempts of a step fail than succeed, and three of them.
//!
//! What began before the last change says nothing about the state after it and is left out.

mod recent;

pub use recent::Recent;

use crate::breaker::{Breaker, BreakerAction, BreakerState};
use chrono::{DateTime, TimeDelta, Utc};

/// Successes that close the circuit again, and the most probes at once.
pub const PROBES: i32 = 3;
/// The first wait.
pub const FIRST_WAIT: TimeDelta = TimeDelta::seconds(30);
/// The longest one.
pub const LONGEST_WAIT: TimeDelta = TimeDelta::minutes(15);
/// What is random of it.
const JITTER: f64 = 0.2;
/// A step of the ramp nobody disturbed is over after so long.
pub const STEP: TimeDelta = TimeDelta::seconds(10);
/// For the rate, so many times the failures in a row must have been tried. 100 is what others ask for too (Resilience4j).
const ATTEMPTS_PER_FAILURE: i64 = 5;
/// A row is over when the last failure is this old.
const FORGOTTEN_AFTER: TimeDelta = TimeDelta::hours(1);

/// Attempts of one integration that ended alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// When the first of them began.
    pub started_at: DateTime<Utc>,
    /// Whether the external system did not do its part; otherwise it answered, be it that it refuses the request.
    pub is_failure: bool,
    /// How many.
    pub count: i32,
}

/// What was seen of an integration, in order.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The attempts.
    pub outcomes: &'a [Outcome],
    /// How the last failure among them reads.
    pub last_error: Option<&'a str>,
}

/// What holds for an integration.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Failures in a row that open it; 0: it never opens by itself.
    pub failures: i32,
    /// Where the ramp ends.
    pub max_concurrency: i32,
    /// In [0, 1): how much is taken off the wait.
    pub random: f64,
}

/// A change of state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flip {
    /// Before.
    pub from: BreakerState,
    /// Since.
    pub to: BreakerState,
    /// In words.
    pub reason: String,
}

/// A breaker with everything it remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Circuit {
    /// What people see of it.
    pub breaker: Breaker,
    /// How often it opened since it was closed.
    pub times_opened: i32,
    /// Half-open: probes that succeeded. Ramping: successes of this step.
    pub successes: i32,
    /// Ramping: failures of this step.
    pub failures: i32,
    /// Ramping: when this step began.
    pub step_at: Option<DateTime<Utc>>,
    /// The last failure that counted.
    pub failed_at: Option<DateTime<Utc>>,
    /// Closed: what the rate is judged by.
    pub recent: Recent,
}

impl Circuit {
    /// Takes in what was seen; answers the changes of state that follow, in order.
    pub fn observe(&mut self, seen: &Seen<'_>, rule: &Rule, now: DateTime<Utc>) -> Vec<Flip> {
        let mut flips = Vec::new();
        for outcome in seen.outcomes {
            if self.breaker.since.is_some_and(|since| outcome.started_at < since) {
                continue;
            }
            let flip = match self.breaker.state {
                BreakerState::Closed if rule.failures <= 0 => None,
                BreakerState::Closed => self.counts(outcome, seen.last_error, rule, now),
                BreakerState::Open => None,
                BreakerState::HalfOpen => self.is_probed(outcome, seen.last_error, rule, now),
                BreakerState::Ramping => self.ramps(outcome, seen.last_error, rule, now),
            };
            flips.extend(flip);
        }
        flips
    }

    /// What time alone changes: the end of a wait, a step of the ramp, a row that is too old to be one.
    pub fn tick(&mut self, max_concurrency: i32, now: DateTime<Utc>) -> Option<Flip> {
        match self.breaker.state {
            BreakerState::Open if self.breaker.probe_at.is_some_and(|at| at <= now) => {
                let why =
                    if self.breaker.held_until.is_some() { "the hold is over" } else { "the wait is over" };
                Some(self.half_opens(format!("{why}: {PROBES} probes decide"), now))
            }
            BreakerState::Ramping if self.step_at.is_none_or(|at| at + STEP <= now) => {
                if self.failures > self.successes {
                    self.begins_step(now);
                    return None;
                }
                self.steps_up(max_concurrency, now)
            }
            BreakerState::Closed if self.failed_at.is_none_or(|at| at + FORGOTTEN_AFTER <= now) => {
                self.breaker.failures_in_a_row = 0;
                self.recent = Recent::default();
                None
            }
            _ => None,
        }
    }

    /// What an operator asks for. `until` goes with a hold.
    pub fn steer(
        &mut self,
        action: BreakerAction,
        until: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Option<Flip> {
        match (action, self.breaker.state) {
            (BreakerAction::Probe, BreakerState::Open) => {
                Some(self.half_opens(format!("asked for by hand: {PROBES} probes decide"), now))
            }
            (BreakerAction::Probe, _) => None,
            (BreakerAction::Close, BreakerState::Closed) => {
                self.breaker.failures_in_a_row = 0;
                self.recent = Recent::default();
                None
            }
            (BreakerAction::Close, _) => Some(self.closes("closed by hand".to_owned(), now)),
            (BreakerAction::Hold, _) => {
                let until = until.unwrap_or(now);
                let reason = format!("held open by hand until {} UTC", until.format("%Y-%m-%d %H:%M:%S"));
                Some(self.opens(until, Some(until), reason, now))
            }
        }
    }

    /// The external system is another one now, or somebody says that it works again: what was seen before counts no more, and an open
    /// circuit is probed at once. A hold stays.
    pub fn starts_anew(&mut self, why: &str, now: DateTime<Utc>) -> Option<Flip> {
        self.breaker.failures_in_a_row = 0;
        self.recent = Recent::default();
        self.times_opened = 0;
        let is_waiting = self.breaker.state == BreakerState::Open && self.breaker.held_until.is_none();
        is_waiting.then(|| self.half_opens(format!("{why}: {PROBES} probes decide"), now))
    }

    /// Whether anything but a closed circuit without a failure lately: those are looked at no more.
    #[must_use]
    pub fn is_watched(&self, now: DateTime<Utc>) -> bool {
        self.breaker.state != BreakerState::Closed
            || self.breaker.failures_in_a_row > 0
            || self.recent.at(now).failures() > 0
    }

    /// The run of failures in a row gets longer, or is over.
    fn extends_or_ends_run(&mut self, outcome: &Outcome, now: DateTime<Utc>) {
        if outcome.is_failure {
            self.failed_at = Some(now);
            self.breaker.failures_in_a_row = self.breaker.failures_in_a_row.saturating_add(outcome.count);
        } else {
            self.breaker.failures_in_a_row = 0;
        }
    }

    fn counts(
        &mut self,
        outcome: &Outcome,
        last_error: Option<&str>,
        rule: &Rule,
        now: DateTime<Utc>,
    ) -> Option<Flip> {
        self.extends_or_ends_run(outcome, now);
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
        Some(self.fails(what, last_error, rule.random, now))
    }

    fn is_probed(
        &mut self,
        outcome: &Outcome,
        last_error: Option<&str>,
        rule: &Rule,
        now: DateTime<Utc>,
    ) -> Option<Flip> {
        self.extends_or_ends_run(outcome, now);
        if outcome.is_failure {
            return Some(self.fails(("a probe failed".to_owned(), true), last_error, rule.random, now));
        }
        self.successes = self.successes.saturating_add(outcome.count);
        self.breaker.at_once = Some((PROBES - self.successes).max(0));
        if self.successes < PROBES {
            return None;
        }
        let next = PROBES * 2;
        if next >= rule.max_concurrency {
            return Some(self.closes(format!("{PROBES} probes succeeded"), now));
        }
        self.breaker.at_once = Some(next);
        self.begins_step(now);
        let reason = format!("{PROBES} probes succeeded: {next} jobs at once for now");
        Some(self.flips(BreakerState::Ramping, reason, now))
    }

    fn ramps(
        &mut self,
        outcome: &Outcome,
        last_error: Option<&str>,
        rule: &Rule,
        now: DateTime<Utc>,
    ) -> Option<Flip> {
        self.extends_or_ends_run(outcome, now);
        if outcome.is_failure {
            self.failures = self.failures.saturating_add(outcome.count);
            if self.failures < PROBES || self.failures <= self.successes {
                return None;
            }
            let tried = self.failures.saturating_add(self.successes);
            let what = format!("{} of {tried} attempts failed while it ramped up", self.failures);
            return Some(self.fails((what, false), last_error, rule.random, now));
        }
        self.successes = self.successes.saturating_add(outcome.count);
        if self.breaker.at_once.is_some_and(|at_once| self.successes < at_once) {
            return None;
        }
        self.steps_up(rule.max_concurrency, now)
    }

    fn begins_step(&mut self, now: DateTime<Utc>) {
        self.step_at = Some(now);
        self.successes = 0;
        self.failures = 0;
    }

    fn steps_up(&mut self, max_concurrency: i32, now: DateTime<Utc>) -> Option<Flip> {
        self.begins_step(now);
        let next = self.breaker.at_once.unwrap_or(PROBES).saturating_mul(2);
        if next >= max_concurrency {
            return Some(self.closes(format!("it ramped up to {max_concurrency} at once"), now));
        }
        self.breaker.at_once = Some(next);
        None
    }

    /// Opens after so long a wait as it deserves. What failed is told with the error, which is its own when it was one attempt.
    fn fails(
        &mut self,
        (what, is_one): (String, bool),
        last_error: Option<&str>,
        random: f64,
        now: DateTime<Utc>,
    ) -> Flip {
        let reason = match last_error {
            Some(error) if is_one => format!("{what}: {error}"),
            Some(error) => format!("{what}; the last: {error}"),
            None => what,
        };
        self.times_opened = self.times_opened.saturating_add(1);
        let wait = wait(self.times_opened, random);
        self.opens(now + wait, None, reason, now)
    }

    fn opens(
        &mut self,
        probe_at: DateTime<Utc>,
        held_until: Option<DateTime<Utc>>,
        reason: String,
        now: DateTime<Utc>,
    ) -> Flip {
        self.recent = Recent::default();
        let flip = self.flips(BreakerState::Open, reason, now);
        self.breaker.probe_at = Some(probe_at);
        self.breaker.held_until = held_until;
        self.breaker.at_once = Some(0);
        flip
    }

    fn half_opens(&mut self, reason: String, now: DateTime<Utc>) -> Flip {
        let flip = self.flips(BreakerState::HalfOpen, reason, now);
        self.successes = 0;
        self.breaker.at_once = Some(PROBES);
        flip
    }

    fn closes(&mut self, reason: String, now: DateTime<Utc>) -> Flip {
        let flip = self.flips(BreakerState::Closed, reason, now);
        self.breaker.at_once = None;
        self.breaker.failures_in_a_row = 0;
        self.times_opened = 0;
        self.recent = Recent::default();
        flip
    }

    fn flips(&mut self, to: BreakerState, reason: String, now: DateTime<Utc>) -> Flip {
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
    let whole = (FIRST_WAIT * 2_i32.saturating_pow(doublings)).min(LONGEST_WAIT);
    let ms = whole.num_milliseconds() as f64 * (1.0 - JITTER * random.clamp(0.0, 1.0));
    TimeDelta::milliseconds(ms as i64)
}

#[cfg(test)]
mod tests;
