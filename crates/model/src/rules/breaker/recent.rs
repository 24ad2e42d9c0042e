//! What the failure rate is judged by.

use super::Outcome;
use chrono::{DateTime, TimeDelta, Utc};

/// Attempts of the last half to whole minute: the half minute that runs, and the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recent {
    /// When the half minute began.
    pub since: Option<DateTime<Utc>>,
    /// Attempts in it.
    pub attempts: i32,
    /// Those that failed.
    pub failures: i32,
    /// Attempts of the half minute before.
    pub attempts_before: i32,
    /// Those that failed.
    pub failures_before: i32,
}

impl Recent {
    const HALF: TimeDelta = TimeDelta::seconds(30);

    pub(super) fn at(mut self, now: DateTime<Utc>) -> Self {
        let Some(since) = self.since.filter(|since| now - *since < Self::HALF * 2) else {
            return Self { since: Some(now), ..Self::default() };
        };
        if now - since >= Self::HALF {
            self = Self {
                since: Some(since + Self::HALF),
                attempts: 0,
                failures: 0,
                attempts_before: self.attempts,
                failures_before: self.failures,
            };
        }
        self
    }

    pub(super) fn add(&mut self, outcome: &Outcome) {
        self.attempts = self.attempts.saturating_add(outcome.count);
        if outcome.is_failure {
            self.failures = self.failures.saturating_add(outcome.count);
        }
    }

    pub(super) fn attempts(&self) -> i64 {
        i64::from(self.attempts) + i64::from(self.attempts_before)
    }

    pub(super) fn failures(&self) -> i64 {
        i64::from(self.failures) + i64::from(self.failures_before)
    }
}
