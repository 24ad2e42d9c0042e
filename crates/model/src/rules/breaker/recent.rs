//! The attempts that the failure rate is computed from.

use super::Outcome;
use chrono::{DateTime, TimeDelta, Utc};

/// Attempts of the last 30 to 60 seconds: the current half minute, and the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recent {
    /// When the current half minute began.
    pub since: Option<DateTime<Utc>>,
    /// Attempts in it.
    pub attempts: i32,
    /// Failed attempts in it.
    pub failures: i32,
    /// Attempts in the half minute before.
    pub attempts_before: i32,
    /// Failed attempts in the half minute before.
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
