//! Settings of the engine: concurrency, claiming, leases, shutdown.

use super::{error::ConfigError, key::Key, secret::Secret, sources::Sources};
use std::time::Duration;

const WORKERS: Key = Key::with_default(
    "HEADGATE_WORKERS",
    "100",
    "concurrent jobs per process; 0: none",
    "a whole number from 0 to 10000",
);
const FETCH_LIMIT: Key = Key::with_default(
    "HEADGATE_FETCH_LIMIT",
    "200",
    "maximum number of jobs claimed in one round trip",
    "a whole number from 1 to 2000",
);
const POLL_INTERVAL: Key = Key::with_default(
    "HEADGATE_POLL_INTERVAL",
    "1s",
    "longest wait when no wake-up arrives",
    "a duration from 10ms to 1h, such as 1s",
);
const JOB_TIMEOUT: Key = Key::with_default(
    "HEADGATE_JOB_TIMEOUT",
    "30s",
    "default timeout of one attempt",
    "a duration from 100ms to 1h, such as 30s",
);
const HEARTBEAT_INTERVAL: Key = Key::with_default(
    "HEADGATE_HEARTBEAT_INTERVAL",
    "10s",
    "time between lease renewals; a lease ends after 3 missed ones",
    "a duration from 100ms to 10m, such as 10s",
);
const RECOVERY_INTERVAL: Key = Key::with_default(
    "HEADGATE_RECOVERY_INTERVAL",
    "10s",
    "how often jobs of lost workers are recovered",
    "a duration from 100ms to 10m, such as 10s",
);
const SHUTDOWN_GRACE: Key = Key::with_default(
    "HEADGATE_SHUTDOWN_GRACE",
    "20s",
    "time from SIGTERM to the end of the process; running jobs get all but the last 5 s of it",
    "a duration from 0s to 1h, such as 20s",
);
const AMQP_URL: Key = Key::secret(
    "HEADGATE_AMQP_URL",
    "RabbitMQ fan-out of job ids to external workers",
    "a URL such as amqp://user:password@host:5672/vhost",
);

pub(super) const KEYS: [&Key; 8] = [
    &WORKERS,
    &FETCH_LIMIT,
    &POLL_INTERVAL,
    &JOB_TIMEOUT,
    &HEARTBEAT_INTERVAL,
    &RECOVERY_INTERVAL,
    &SHUTDOWN_GRACE,
    &AMQP_URL,
];

#[derive(Clone, Debug)]
pub struct WorkerSettings {
    /// Concurrent jobs; 0: this process runs none.
    pub workers: usize,
    /// Jobs per claim at most.
    pub fetch_limit: usize,
    pub poll_interval: Duration,
    /// Default for integrations without their own.
    pub job_timeout: Duration,
    pub heartbeat_interval: Duration,
    pub recovery_interval: Duration,
    /// From the first signal on.
    pub shutdown_grace: Duration,
    pub amqp_url: Option<Secret>,
}

impl WorkerSettings {
    pub fn read(sources: &Sources) -> Result<Self, ConfigError> {
        const MS: fn(u64) -> Duration = Duration::from_millis;
        const S: fn(u64) -> Duration = Duration::from_secs;
        let hour = S(3_600);
        Ok(Self {
            workers: sources.number(&WORKERS, 0..=10_000)?,
            fetch_limit: sources.number(&FETCH_LIMIT, 1..=2_000)?,
            poll_interval: sources.duration(&POLL_INTERVAL, MS(10)..=hour)?,
            job_timeout: sources.duration(&JOB_TIMEOUT, MS(100)..=hour)?,
            heartbeat_interval: sources.duration(&HEARTBEAT_INTERVAL, MS(100)..=S(600))?,
            recovery_interval: sources.duration(&RECOVERY_INTERVAL, MS(100)..=S(600))?,
            shutdown_grace: sources.duration(&SHUTDOWN_GRACE, S(0)..=hour)?,
            amqp_url: sources
                .secret(&AMQP_URL, |text| text.starts_with("amqp://") || text.starts_with("amqps://"))?,
        })
    }
}
