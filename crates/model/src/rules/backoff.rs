//! Retry schedules: how long to wait before the next attempt.

use crate::duration;
use std::{fmt, str::FromStr, time::Duration};

/// Longer waits are shortened to this.
pub const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);
/// With jitter, a wait of zero is spread over this, so that an outage does not double the load at once.
pub const SPREAD_OF_ZERO: Duration = Duration::from_secs(1);

/// The waits between attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RetrySchedule {
    /// The n-th wait follows attempt n; the last one repeats. Never empty.
    Steps(Vec<Duration>),
    /// 2^n seconds after attempt n.
    Exponential,
}

impl Default for RetrySchedule {
    fn default() -> Self {
        Self::Steps([0, 10, 30, 60, 120, 300, 600, 900, 1200, 1800].map(Duration::from_secs).to_vec())
    }
}

/// A schedule with its jitter.
#[derive(Clone, Debug, PartialEq)]
pub struct Backoff {
    /// The waits.
    pub schedule: RetrySchedule,
    /// 0 to 1: the random part of each wait, which is then (1 - jitter) to 1 of the schedule's.
    pub jitter: f64,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { schedule: RetrySchedule::default(), jitter: 0.5 }
    }
}

impl Backoff {
    /// The wait after attempt `attempt` (1 for the first), but never shorter than `at_least`, which the external system asked for: jitter only
    /// lengthens that. `random` is in [0, 1).
    #[must_use]
    pub fn wait(&self, attempt: i16, at_least: Option<Duration>, random: f64) -> Duration {
        let full = self.schedule.step(attempt).min(MAX_WAIT);
        let jitter = self.jitter.clamp(0.0, 1.0);
        let own = if jitter > 0.0 && full.is_zero() {
            SPREAD_OF_ZERO.mul_f64(random)
        } else {
            full.mul_f64(1.0 - jitter * random)
        };
        match at_least {
            Some(asked) if asked > own => asked.mul_f64(1.0 + 0.1 * jitter * random).min(MAX_WAIT),
            _ => own,
        }
    }
}

impl Backoff {
    /// Describes the schedule's wait after attempt `attempt`: `step 2 of the retry schedule, with jitter`.
    #[must_use]
    pub fn in_words(&self, attempt: i16, schedule_name: &str) -> String {
        let jitter = if self.jitter > 0.0 { ", with jitter" } else { "" };
        let n = usize::try_from(attempt.max(1)).unwrap_or(1);
        match &self.schedule {
            RetrySchedule::Exponential => format!("{schedule_name}, exponential{jitter}"),
            RetrySchedule::Steps(steps) if n > steps.len() => {
                format!("the last step of {schedule_name}, which repeats{jitter}")
            }
            RetrySchedule::Steps(_) => format!("step {n} of {schedule_name}{jitter}"),
        }
    }
}

impl RetrySchedule {
    fn step(&self, attempt: i16) -> Duration {
        let n = usize::try_from(attempt.max(1)).unwrap_or(1);
        match self {
            Self::Steps(steps) => steps.get(n - 1).or(steps.last()).copied().unwrap_or(SPREAD_OF_ZERO),
            // The exponent is clamped first: 2^17 s is above the maximum already.
            Self::Exponential => Duration::from_secs(1 << n.min(17)),
        }
    }
}

/// Not a schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a list of waits such as 0s,10s,1m (1 to 100 of them, each up to 24h), or exponential")]
pub struct ScheduleError;

impl FromStr for RetrySchedule {
    type Err = ScheduleError;
    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        if text.trim() == "exponential" {
            return Ok(Self::Exponential);
        }
        let steps = text.split(',').map(|step| duration::parse(step.trim())).collect::<Option<Vec<_>>>();
        match steps {
            Some(steps) if (1..=100).contains(&steps.len()) && steps.iter().all(|step| *step <= MAX_WAIT) => {
                Ok(Self::Steps(steps))
            }
            _ => Err(ScheduleError),
        }
    }
}

impl fmt::Display for RetrySchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exponential => f.write_str("exponential"),
            Self::Steps(steps) => {
                for (index, step) in steps.iter().enumerate() {
                    let gap = if index == 0 { "" } else { "," };
                    write!(f, "{gap}{step:?}")?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_described_by_its_step() {
        let steps = RetrySchedule::Steps(vec![Duration::ZERO, Duration::from_secs(10)]);
        for (schedule, jitter, attempt, says) in [
            (steps.clone(), 0.0, 1, "step 1 of the retry schedule"),
            (steps.clone(), 0.5, 2, "step 2 of the retry schedule, with jitter"),
            (steps, 0.5, 3, "the last step of the retry schedule, which repeats, with jitter"),
            (RetrySchedule::Exponential, 0.0, 3, "the retry schedule, exponential"),
        ] {
            assert_eq!(Backoff { schedule, jitter }.in_words(attempt, "the retry schedule"), says);
        }
    }

    const S: fn(u64) -> Duration = Duration::from_secs;

    #[test]
    fn the_nth_wait_follows_attempt_n_and_the_last_repeats() {
        let backoff = Backoff { jitter: 0.0, ..Backoff::default() };
        for (attempt, seconds) in
            [(1, 0), (2, 10), (3, 30), (4, 60), (10, 1800), (11, 1800), (i16::MAX, 1800)]
        {
            assert_eq!(backoff.wait(attempt, None, 0.9), S(seconds), "after attempt {attempt}");
        }
    }

    #[test]
    fn exponential_doubles_and_never_overflows() {
        let backoff = Backoff { schedule: RetrySchedule::Exponential, jitter: 0.0 };
        for (attempt, seconds) in [(1, 2), (2, 4), (10, 1024), (16, 65_536), (17, 86_400), (i16::MAX, 86_400)]
        {
            assert_eq!(backoff.wait(attempt, None, 0.0), S(seconds), "after attempt {attempt}");
        }
    }

    #[test]
    fn jitter_keeps_the_wait_between_its_bounds() {
        let backoff = Backoff::default();
        for random in [0.0, 0.25, 0.5, 0.999] {
            let wait = backoff.wait(4, None, random);
            assert!((S(30)..=S(60)).contains(&wait), "{wait:?}");
            assert!(backoff.wait(1, None, random) <= S(1), "a wait of zero is spread over a second");
        }
        assert_eq!(backoff.wait(1, None, 0.5), Duration::from_millis(500));
    }

    #[test]
    fn a_requested_wait_is_never_shortened() {
        for random in [0.0, 0.5, 0.999] {
            let wait = Backoff::default().wait(2, Some(S(180)), random);
            assert!(wait >= S(180) && wait <= S(190), "{wait:?}");
        }
        assert_eq!(Backoff::default().wait(9, Some(S(1)), 0.0), S(1200));
    }

    #[test]
    fn schedules_are_read_and_refused() {
        assert_eq!("0s,10s,30s,1m,2m,5m,10m,15m,20m,30m".parse(), Ok(RetrySchedule::default()));
        assert_eq!(" exponential ".parse(), Ok(RetrySchedule::Exponential));
        assert_eq!("250ms, 2h".parse(), Ok(RetrySchedule::Steps(vec![Duration::from_millis(250), S(7200)])));
        for text in ["", ",", "10", "s", "10x", "25h", "99999999999999999999s", "-1s", "1s,,2s"] {
            assert_eq!(text.parse::<RetrySchedule>(), Err(ScheduleError), "{text}");
        }
    }
}
