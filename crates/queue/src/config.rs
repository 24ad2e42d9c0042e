//! How the engine runs. The program reads these from flags, environment and file; the defaults are the contract's.

use model::{retention::Retentions, rules::backoff::Backoff};
use std::time::Duration;
use tokio::time::Instant;

/// Settings of the engine.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineConfig {
    /// Jobs this process runs at once; 0: none.
    pub workers: usize,
    /// Most jobs claimed in one round trip.
    pub fetch_limit: usize,
    /// Longest wait when no wake-up arrives.
    pub poll_interval: Duration,
    /// Time for one attempt of a job that does not say.
    pub job_timeout: Duration,
    /// Waits between attempts, of integrations that have none of their own (`retry_schedule`).
    pub backoff: Backoff,
    /// Failures in a row of one integration that open its circuit breaker; 0: it opens by hand only. At least half of five times as many
    /// attempts within a minute open it too.
    pub breaker_failures: u32,
    /// Renewal of the process's lease, which ends after three missed.
    pub heartbeat_interval: Duration,
    /// How much longer than its longest wait an essential loop of the engine may be silent until it counts as stopped, and the process's
    /// lease is given up: see [`Engine::start_watched`](crate::worker::Engine::start_watched). Much longer than anything a handler blocks
    /// a thread for.
    pub watchdog_patience: Duration,
    /// How long the lead of maintenance holds without renewal; renewed each third of it.
    pub leader_lease: Duration,
    /// How often lost leases are looked for.
    pub recovery_interval: Duration,
    /// How long results wait for a row that another transaction holds (a producer that folds into a running job, or has a place in its
    /// serialize key's line, and has not committed): then the others of their batch are recorded without them. Those that are left
    /// wait as long as it takes, five times as long at a stretch.
    pub lock_wait: Duration,
    /// How long the database waits for the next statement while results are recorded, before it undoes that: for a process that was
    /// stopped in the middle of it, and for handlers (`on_completed`), each of which is tried five times.
    pub longest_silence: Duration,
    /// How long a shutdown takes at most, also while the database is away. Running jobs get all of it but the [last
    /// steps](Self::LAST_STEPS).
    pub shutdown_grace: Duration,
    /// How long things are kept.
    pub retentions: Retentions,
}

impl EngineConfig {
    /// What a shutdown keeps for giving jobs back, recording results, signing off and closing, and its whole length where the grace is shorter.
    pub const LAST_STEPS: Duration = Duration::from_secs(5);

    /// When a shutdown that begins at a moment is over at the latest.
    #[must_use]
    pub fn end_of_shutdown(&self, began_at: Instant) -> Instant {
        began_at + self.shutdown_grace.max(Self::LAST_STEPS)
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
            watchdog_patience: Duration::from_secs(30),
            leader_lease: Duration::from_secs(10),
            recovery_interval: Duration::from_secs(10),
            lock_wait: Duration::from_millis(200),
            longest_silence: Duration::from_secs(5),
            shutdown_grace: Duration::from_secs(20),
            retentions: Retentions::default(),
        }
    }
}
