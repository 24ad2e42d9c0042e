//! Settings of the engine. `headgate` reads them from flags, environment and file.

use model::{retention::Retentions, rules::backoff::Backoff};
use std::time::Duration;
use tokio::time::Instant;

/// Settings of the engine; [`Default`] has the documented defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineConfig {
    /// Most jobs this process runs at once; 0: none.
    pub workers: usize,
    /// Most jobs claimed in one round trip.
    pub fetch_limit: usize,
    /// Longest wait between two claims when no wake-up arrives.
    pub poll_interval: Duration,
    /// Time-out of an attempt when neither its job nor its lane has one.
    pub job_timeout: Duration,
    /// Waits between attempts, for integrations without a `retry_schedule` of their own.
    pub backoff: Backoff,
    /// Failures in a row that open an integration's circuit breaker; 0: only operators open it. It also opens when, of at least five times as
    /// many attempts within a minute, half have failed.
    pub breaker_failures: u32,
    /// How often the process renews its lease, which ends after three missed heartbeats.
    pub heartbeat_interval: Duration,
    /// How much longer than its longest wait an essential loop of the engine may be silent before it counts as stopped and the process
    /// releases its lease; see [`Engine::start_watched`](crate::worker::Engine::start_watched). It must be much longer than any handler blocks a
    /// thread.
    pub watchdog_timeout: Duration,
    /// How long the lease of the maintenance leader lasts without renewal; it is renewed after a third of that.
    pub leader_lease: Duration,
    /// How often jobs of lost leases are recovered.
    pub recovery_interval: Duration,
    /// How long a batch of results waits for a row that another transaction has locked (an uncommitted producer that folds into a running
    /// job, or queues behind its serialize key). After that the rest of the batch is recorded without the blocked results, which then wait
    /// for as long as it takes, in tries of five times this length.
    pub lock_timeout: Duration,
    /// How long the database waits for the next statement of a transaction that records results before it rolls that back: it bounds the locks of
    /// a process that was stopped in the middle, and of handlers (`on_completed`), each of which gets five tries.
    pub idle_in_transaction_timeout: Duration,
    /// Longest duration of a shutdown, also while the database is away. Running jobs get all of it except the
    /// reserve of 5 s.
    pub shutdown_grace: Duration,
    /// How long finished jobs, events and statistics are kept.
    pub retentions: Retentions,
}

impl EngineConfig {
    /// The part of a shutdown reserved for releasing jobs, recording results, signing off and closing; also the whole of it when the grace time is
    /// shorter.
    pub(crate) const SHUTDOWN_RESERVE: Duration = Duration::from_secs(5);

    /// The latest end of a shutdown that began at this time.
    #[must_use]
    pub fn shutdown_deadline(&self, began_at: Instant) -> Instant {
        began_at + self.shutdown_grace.max(Self::SHUTDOWN_RESERVE)
    }
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            workers: 100,
            fetch_limit: 200,
            poll_interval: Duration::from_secs(1),
            job_timeout: Duration::from_secs(30),
            backoff: Backoff::default(),
            breaker_failures: 20,
            heartbeat_interval: Duration::from_secs(10),
            watchdog_timeout: Duration::from_secs(30),
            leader_lease: Duration::from_secs(10),
            recovery_interval: Duration::from_secs(10),
            lock_timeout: Duration::from_millis(200),
            idle_in_transaction_timeout: Duration::from_secs(5),
            shutdown_grace: Duration::from_secs(20),
            retentions: Retentions::default(),
        }
    }
}
