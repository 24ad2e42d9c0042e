//! Settings of retries and breakers.

use super::{error::ConfigError, key::Key, sources::Sources};
use model::rules::backoff::Backoff;

const MAX_ATTEMPTS: Key = Key::with_default(
    "HEADGATE_MAX_ATTEMPTS",
    "10",
    "attempts before a job becomes a dead letter, unless the job or its integration sets its own",
    "a whole number from 1 to 100",
);
const SCHEDULE: Key = Key::with_default(
    "HEADGATE_RETRY_SCHEDULE",
    "0s,10s,30s,1m,2m,5m,10m,15m,20m,30m",
    "waits between attempts, the last one repeats",
    "a list of 1 to 100 waits such as 0s,10s,1m, each up to 24h, or exponential",
);
const JITTER: Key = Key::with_default(
    "HEADGATE_RETRY_JITTER",
    "0.5",
    "fraction of each wait that is random",
    "a number from 0 to 1",
);
const BREAKER_FAILURES: Key = Key::with_default(
    "HEADGATE_BREAKER_FAILURES",
    "20",
    "failures in a row of one integration that open its breaker; 0: never",
    "a whole number from 0 to 1000000",
);

pub(super) const KEYS: [&Key; 4] = [&MAX_ATTEMPTS, &SCHEDULE, &JITTER, &BREAKER_FAILURES];

#[derive(Clone, Debug)]
pub struct RetrySettings {
    /// Default for jobs and integrations without their own.
    pub max_attempts: i16,
    pub backoff: Backoff,
    /// Failures in a row of one integration that open its breaker; 0: never.
    pub breaker_failures: u32,
}

/// By itself, for `import`, which runs no jobs but stores the number with them.
pub fn max_attempts(sources: &Sources) -> Result<i16, ConfigError> {
    sources.number(&MAX_ATTEMPTS, 1..=100)
}

impl RetrySettings {
    pub fn read(sources: &Sources) -> Result<Self, ConfigError> {
        Ok(Self {
            max_attempts: max_attempts(sources)?,
            backoff: Backoff {
                schedule: sources.required(&SCHEDULE, |text| text.parse().ok())?,
                jitter: sources.number(&JITTER, 0.0..=1.0)?,
            },
            breaker_failures: sources.number(&BREAKER_FAILURES, 0..=1_000_000)?,
        })
    }
}
