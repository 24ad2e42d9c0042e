//! The parts of one engine, and who is given which.

use crate::EngineConfig;
use crate::worker::claim::Claims;
use crate::worker::engine::listen::Listener;
use crate::worker::finish::{Breakers, Finisher, Gathering, Latencies, Recorder, Writer};
use crate::worker::handler::Handlers;
use crate::worker::heartbeat::Heartbeats;
use crate::worker::judge::Schedules;
use crate::worker::lease::ProcessLease;
use crate::worker::limit::Limiter;
use crate::worker::run::{AttemptRunner, Attempts, OverdueCheck};
use crate::worker::state::{Availability, ClaimBatches, Meters, Results, RunningJobs, WakeUps, Watchdog};
use sqlx::PgPool;
use std::sync::{Arc, atomic::AtomicBool};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// All parts of one engine. Only this room sees all of them: each other room is given those it uses.
pub(super) struct Parts {
    pool: PgPool,
    pub(super) config: EngineConfig,
    handlers: Handlers,
    pub(super) lease: Arc<ProcessLease>,
    pub(super) running: Arc<RunningJobs>,
    pub(super) batches: Arc<ClaimBatches>,
    pub(super) results: Arc<Results>,
    pub(super) attempts: Arc<Attempts>,
    pub(super) limiter: Arc<Limiter>,
    pub(super) schedules: Arc<Schedules>,
    pub(super) breakers: Arc<Breakers>,
    pub(super) latencies: Arc<Latencies>,
    pub(super) availability: Arc<Availability>,
    pub(super) wake_ups: Arc<WakeUps>,
    pub(super) meters: Arc<Meters>,
    pub(super) watchdog: Arc<Watchdog>,
    pub(super) no_more_claims: CancellationToken,
    /// The grace time is over: running jobs are stopped and released.
    pub(super) release_running: CancellationToken,
}

impl Parts {
    pub(super) fn new(pool: PgPool, config: EngineConfig, handlers: Handlers) -> Self {
        let (running, meters) = (Arc::new(RunningJobs::default()), Arc::new(Meters::new()));
        let wake_ups = Arc::new(WakeUps::default());
        let availability = Arc::new(Availability::new(Arc::clone(&wake_ups)));
        Self {
            lease: Arc::new(ProcessLease::new()),
            batches: Arc::new(ClaimBatches::default()),
            results: Arc::new(Results::new(Arc::clone(&running), Arc::clone(&meters))),
            attempts: Arc::new(Attempts::default()),
            limiter: Arc::new(Limiter::new(pool.clone())),
            schedules: Arc::new(Schedules::new(
                pool.clone(),
                config.backoff.clone(),
                Arc::clone(&availability),
            )),
            breakers: Arc::new(Breakers::new(
                pool.clone(),
                config.breaker_failures,
                Arc::clone(&availability),
                Arc::clone(&wake_ups),
            )),
            latencies: Arc::new(Latencies::new(pool.clone())),
            watchdog: Arc::new(Watchdog::default()),
            no_more_claims: CancellationToken::new(),
            release_running: CancellationToken::new(),
            running,
            availability,
            wake_ups,
            meters,
            pool,
            config,
            handlers,
        }
    }

    /// Starts to record results. The task ends after the last clone of the finisher has been dropped.
    pub(super) fn start_finisher(&self) -> (Finisher, JoinHandle<()>) {
        let recorder = Recorder {
            pool: self.pool.clone(),
            handlers: self.handlers.clone(),
            lock_timeout: self.config.lock_timeout,
            idle_in_transaction_timeout: self.config.idle_in_transaction_timeout,
            availability: Arc::clone(&self.availability),
            wake_ups: Arc::clone(&self.wake_ups),
            meters: Arc::clone(&self.meters),
            latencies: Arc::clone(&self.latencies),
        };
        let writer = Writer {
            recorder,
            schedules: Arc::clone(&self.schedules),
            batches: Arc::clone(&self.batches),
            results: Arc::clone(&self.results),
        };
        Finisher::start(Gathering {
            writer: Arc::new(writer),
            breakers: Arc::clone(&self.breakers),
            running: Arc::clone(&self.running),
            watchdog: Arc::clone(&self.watchdog),
        })
    }

    pub(super) fn runner(&self, finisher: Finisher) -> AttemptRunner {
        AttemptRunner {
            pool: self.pool.clone(),
            handlers: self.handlers.clone(),
            timeout: self.config.job_timeout,
            limiter: Arc::clone(&self.limiter),
            schedules: Arc::clone(&self.schedules),
            attempts: Arc::clone(&self.attempts),
            running: Arc::clone(&self.running),
            batches: Arc::clone(&self.batches),
            release_running: self.release_running.clone(),
            finisher,
        }
    }

    pub(super) fn claims(&self, finisher: Finisher) -> Claims {
        Claims {
            pool: self.pool.clone(),
            workers: self.config.workers,
            fetch_limit: self.config.fetch_limit,
            poll_interval: self.config.poll_interval,
            program: self.handlers.program_name().map(str::to_owned),
            lease: Arc::clone(&self.lease),
            batches: Arc::clone(&self.batches),
            results: Arc::clone(&self.results),
            availability: Arc::clone(&self.availability),
            wake_ups: Arc::clone(&self.wake_ups),
            meters: Arc::clone(&self.meters),
            watchdog: Arc::clone(&self.watchdog),
            runner: Arc::new(self.runner(finisher)),
            no_more_claims: self.no_more_claims.clone(),
            has_dropped: AtomicBool::new(false),
        }
    }

    pub(super) fn heartbeats(&self) -> Heartbeats {
        Heartbeats {
            pool: self.pool.clone(),
            interval: self.config.heartbeat_interval,
            workers: self.config.workers,
            handlers: self.handlers.clone(),
            lease: Arc::clone(&self.lease),
            running: Arc::clone(&self.running),
            batches: Arc::clone(&self.batches),
            attempts: Arc::clone(&self.attempts),
            meters: Arc::clone(&self.meters),
        }
    }

    pub(super) fn overdue_check(&self, finisher: Finisher) -> OverdueCheck {
        OverdueCheck {
            attempts: Arc::clone(&self.attempts),
            running: Arc::clone(&self.running),
            schedules: Arc::clone(&self.schedules),
            finisher,
        }
    }

    pub(super) fn listener(&self) -> Listener {
        Listener {
            pool: self.pool.clone(),
            lease: Arc::clone(&self.lease),
            attempts: Arc::clone(&self.attempts),
            wake_ups: Arc::clone(&self.wake_ups),
            watchdog: Arc::clone(&self.watchdog),
        }
    }
}
