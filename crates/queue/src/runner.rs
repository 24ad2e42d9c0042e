//! A program's workers in a few lines: migrations, handlers, engine, maintenance, an orderly end.

use crate::{
    Client, EngineConfig, QueueError,
    client::lane::check_program,
    job::{Job, JobHandler},
    maintenance::{Maintenance, MaintenanceHandle, ServiceHealth},
    migrate,
    worker::{Engine, EngineHandle, Handlers},
};
use model::id::WorkerId;
use sqlx::PgPool;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

/// Sets up the workers of a process. Start as many processes as you like on one database: they share the work, and one of them keeps
/// everything in order.
///
/// ```no_run
/// # use queue::{HeldJob, Job, JobError, JobHandler, Runner, pool};
/// # #[derive(serde::Serialize, serde::Deserialize)] struct GenerateInvoice { order_id: u64 }
/// # impl Job for GenerateInvoice { const JOB_TYPE: &'static str = "invoice.generate"; }
/// # struct Invoicing;
/// # impl JobHandler<GenerateInvoice> for Invoicing {
/// #     type Output = ();
/// #     async fn run(&self, _: GenerateInvoice, _: &HeldJob) -> Result<(), JobError> { Ok(()) }
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
    /// With the defaults of [`EngineConfig`], and no handler yet. The circuit breaker alone is off (`breaker_failures: 0`; operators may
    /// still open it by hand): it is about one external system, and a lane may have jobs of many kinds.
    ///
    /// A pool of [`pool::connect`](crate::pool::connect) has the session settings the engine is measured with, and gives up connections
    /// that a cancelled transaction left behind. The engine opens some connections of its own beside it (claims, heartbeats, wake-ups, the
    /// leader's lease, vacuum), with the pool's options.
    pub fn new(pool: &PgPool) -> Self {
        Self {
            pool: pool.clone(),
            config: EngineConfig { breaker_failures: 0, ..EngineConfig::default() },
            handlers: Handlers::none(),
            is_migrated: false,
        }
    }

    /// Registers who does jobs of type `J`; name it where the handler does several: `.handle::<GenerateInvoice>(invoicing)`. Jobs of types
    /// that were not registered are left to other processes of the program, such as one of its next version: they go back for 5 s.
    pub fn handle<J: Job>(mut self, handler: impl JobHandler<J>) -> Self {
        self.handlers = self.handlers.handle(handler);
        self
    }

    /// Which program this is, 1 to 100 characters; default `main`. A runner claims from lanes of its program and from no others, be they
    /// another program's or `headgate`'s deliveries: what it cannot run is never taken. So programs with different handlers on one database
    /// take different names, and all processes of one program the same; who enqueues for it opens its client with
    /// [`Client::open_for`](crate::Client::open_for). Should two programs go by one name all the same, each one's processes log a warning when
    /// they start beside the other's.
    pub fn program(mut self, name: &str) -> Self {
        self.handlers = self.handlers.program(name);
        self
    }

    /// Jobs that run at once in this process; default 100.
    pub fn workers(mut self, workers: usize) -> Self {
        self.config.workers = workers;
        self
    }

    /// Every setting, [`workers`](Self::workers) and the circuit breaker among them: [`EngineConfig::default`] opens it after 20 failures in
    /// a row, where [`Runner::new`] leaves it off.
    pub fn config(self, config: EngineConfig) -> Self {
        Self { config, ..self }
    }

    /// Does not migrate at the start: it is done elsewhere, by `headgate migrate` or [`migrate::run_beside`].
    pub fn without_migrations(self) -> Self {
        Self { is_migrated: true, ..self }
    }

    /// Brings the schema `headgate` up to date and starts to work.
    ///
    /// # Errors
    /// [`QueueError::Invalid`] for the name of a program that is none; when a migration fails, or the database is away now. (Later it may be
    /// away as long as it likes.)
    pub async fn start(self) -> Result<Running, QueueError> {
        self.handlers.program_name().map_or(Ok(()), check_program)?;
        if !self.is_migrated {
            migrate::run_beside(&self.pool).await?;
        }
        let stop = CancellationToken::new();
        let engine = Engine::start(self.pool.clone(), self.config.clone(), self.handlers, stop);
        // Counters want folding until the last job has ended: maintenance stops after the engine.
        let maintenance_stop = CancellationToken::new();
        let maintenance = Maintenance::start_as(
            engine.worker_id(),
            self.pool,
            self.config.clone(),
            Vec::new(),
            maintenance_stop.clone(),
        );
        Ok(Running { engine, maintenance, maintenance_stop, config: self.config })
    }
}

/// The workers of this process, at work. Dropping it leaves them at work: shut it down.
#[must_use = "it goes on until `shutdown`"]
pub struct Running {
    engine: EngineHandle,
    maintenance: MaintenanceHandle,
    maintenance_stop: CancellationToken,
    config: EngineConfig,
}

impl Running {
    /// Lets a client of this process wake these workers directly: its next job begins a millisecond sooner than by way of the database.
    pub fn woken_by(self, client: &Client) -> Self {
        client.wake_directly(&self.engine);
        self
    }

    /// Which worker this is, as the list of workers shows it; another one after a lost lease.
    #[must_use]
    pub fn worker_id(&self) -> WorkerId {
        self.engine.worker_id()
    }

    /// Whether it holds its lease and takes jobs: what a readiness probe asks. False while the database is away, when a process must not be
    /// killed: it holds results that are still to be recorded. (One whose loops have stopped gives its lease up by itself.)
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.engine.is_alive()
    }

    /// How the services do that keep the queue in order; only the leader's run.
    #[must_use]
    pub fn health(&self) -> Vec<ServiceHealth> {
        self.maintenance.health()
    }

    /// The engine itself.
    #[must_use]
    pub fn engine(&self) -> &EngineHandle {
        &self.engine
    }

    /// Waits for SIGTERM or SIGINT (Ctrl-C), and shuts down in order. A second signal does nothing: the grace time ends it.
    pub async fn until_signal(self) {
        signalled().await;
        self.shutdown().await;
    }

    /// Shuts down in order and within [`shutdown_grace`](EngineConfig::shutdown_grace): no more claims; running jobs get time to end, the
    /// rest goes back with no attempt counted; everything that ended is recorded; the lease and the lead are given up.
    pub async fn shutdown(self) {
        let ends_at = self.config.end_of_shutdown(Instant::now());
        self.engine.shutdown().await;
        self.maintenance_stop.cancel();
        // A database that is away gives nothing back: the lead runs out.
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
