//! The workers of a program in a few lines: migrations, handlers, engine, maintenance, orderly shutdown.

use crate::client::lane::check_program;
use crate::maintenance::{Maintenance, ServiceHealth};
use crate::worker::{Engine, Handlers};
use crate::{Client, EngineConfig, Job, JobHandler, QueueError, migrate};
use sqlx::PgPool;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

/// Sets up the workers of a process. Start as many processes as you like on one database: they share the work, and one of them runs the
/// maintenance.
///
/// ```no_run
/// # use queue::{LeasedJob, Job, JobError, JobHandler, Runner, pool};
/// # #[derive(serde::Serialize, serde::Deserialize)] struct GenerateInvoice { order_id: u64 }
/// # impl Job for GenerateInvoice { const JOB_TYPE: &'static str = "invoice.generate"; }
/// # struct Invoicing;
/// # impl JobHandler<GenerateInvoice> for Invoicing {
/// #     type Output = ();
/// #     async fn run(&self, _: GenerateInvoice, _: &LeasedJob) -> Result<(), JobError> { Ok(()) }
/// # }
/// # async fn example() -> Result<(), queue::QueueError> {
/// let pool = pool::connect(&pool::PoolSettings::new("postgres:///shop")).await?;
/// let running = Runner::new(&pool).handle(Invoicing).start().await?;
/// running.until_signal().await;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing runs before `start`"]
pub struct Runner {
    pool: PgPool,
    config: EngineConfig,
    handlers: Handlers,
    is_migrated: bool,
}

impl Runner {
    /// A runner with the defaults of [`EngineConfig`] and no handler yet. Only the circuit breaker is off (`breaker_failures: 0`; operators can
    /// still open it): it watches one external system, while a lane may have jobs of many kinds.
    ///
    /// A pool of [`pool::connect`](crate::pool::connect) has the session settings the engine is measured with, and closes connections that a
    /// cancelled transaction left behind. With the same options the engine opens some connections of its own: for claims, heartbeats, wake-ups,
    /// the leader's lease and vacuum.
    pub fn new(pool: &PgPool) -> Self {
        Self {
            pool: pool.clone(),
            config: EngineConfig { breaker_failures: 0, ..EngineConfig::default() },
            handlers: Handlers::none(),
            is_migrated: false,
        }
    }

    /// Registers the handler of jobs of type `J`. Name the type when the handler does several: `.handle::<GenerateInvoice>(invoicing)`. Jobs of
    /// other types are left to other processes of the program, such as those of its next version: they are released for 5 s.
    pub fn handle<J: Job>(mut self, handler: impl JobHandler<J>) -> Self {
        self.handlers = self.handlers.handle(handler);
        self
    }

    /// The name of the program, 1 to 100 characters; default `main`. A runner claims only from the lanes of its program, never from those of
    /// another program or from `headgate`'s deliveries. So programs with different handlers on one database need different names, all processes of
    /// one program share a name, and callers that enqueue for it open their client with [`Client::open_for`](crate::Client::open_for). If two
    /// programs have the same name after all, their processes log a warning when they start.
    pub fn program(mut self, name: &str) -> Self {
        self.handlers = self.handlers.program(name);
        self
    }

    /// Most jobs that run at once in this process; default 100.
    pub fn workers(mut self, workers: usize) -> Self {
        self.config.workers = workers;
        self
    }

    /// Replaces every setting, including [`workers`](Self::workers) and the circuit breaker, which [`EngineConfig::default`] opens after 20
    /// failures in a row and [`Runner::new`] leaves off.
    pub fn config(self, config: EngineConfig) -> Self {
        Self { config, ..self }
    }

    /// Skips the migrations at the start: they are run by `headgate migrate` or [`migrate::run_embedded`].
    pub fn without_migrations(self) -> Self {
        Self { is_migrated: true, ..self }
    }

    /// Migrates the schema `headgate` and starts the workers. Once it has started, outages of the database are waited out.
    ///
    /// # Errors
    /// [`QueueError::Invalid`] for an invalid name of the program; [`QueueError::Migration`].
    pub async fn start(self) -> Result<Running, QueueError> {
        self.handlers.program_name().map_or(Ok(()), check_program)?;
        if !self.is_migrated {
            migrate::run_embedded(&self.pool).await?;
        }
        let stop = CancellationToken::new();
        let engine = Engine::start(self.pool.clone(), self.config.clone(), self.handlers, stop);
        // Maintenance folds counters until the last job has ended, so it stops after the engine.
        let maintenance_stop = CancellationToken::new();
        let maintenance = Maintenance::start(
            self.pool,
            self.config.clone(),
            Vec::new(),
            Some(engine.worker_id()),
            maintenance_stop.clone(),
        );
        Ok(Running { engine, maintenance, maintenance_stop, config: self.config })
    }
}

/// The running workers of this process. Dropping it does not stop them: call [`shutdown`](Self::shutdown).
#[must_use = "it goes on until `shutdown`"]
pub struct Running {
    engine: Engine,
    maintenance: Maintenance,
    maintenance_stop: CancellationToken,
    config: EngineConfig,
}

impl Running {
    /// Lets a client of this process wake these workers directly: its jobs start a millisecond sooner than with a notification of the database.
    pub fn woken_by(self, client: &Client) -> Self {
        client.wake_directly(&self.engine);
        self
    }

    /// The state of the maintenance services, which run in the leader only.
    #[must_use]
    pub fn health(&self) -> Vec<ServiceHealth> {
        self.maintenance.watch().services()
    }

    /// The underlying engine: its id in the list of workers, whether it is alive, and its report.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Waits for SIGTERM or SIGINT (Ctrl-C), then [shuts down](Self::shutdown). A second signal has no effect; the grace time bounds the shutdown.
    pub async fn until_signal(self) {
        signalled().await;
        self.shutdown().await;
    }

    /// Shuts down within [`shutdown_grace`](EngineConfig::shutdown_grace): claims no more jobs, gives running jobs time to end, releases the rest
    /// without counting an attempt, records all results, and releases the worker's lease and the leader's.
    pub async fn shutdown(self) {
        let ends_at = self.config.shutdown_deadline(Instant::now());
        self.engine.shutdown().await;
        self.maintenance_stop.cancel();
        // While the database is away the leader's lease cannot be released: it runs out.
        let _ = timeout_at(ends_at, self.maintenance.stopped()).await;
    }
}

async fn signalled() {
    let interrupt = async {
        if let Err(error) = tokio::signal::ctrl_c().await {
            tracing::error!(%error, "no interrupt will be heard");
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    let terminate = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(error) => {
                tracing::error!(%error, "no SIGTERM will be heard");
                std::future::pending::<()>().await;
            }
        }
    };
    #[cfg(not(unix))]
    let terminate = std::future::pending::<()>();
    tokio::select! {
        () = interrupt => {}
        () = terminate => {}
    }
}
