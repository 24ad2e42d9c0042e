//! A test kit for programs with jobs: runs them by hand on a real database, one after the other, each to its recorded end.
//!
//! Only with the cargo feature `testing`, which belongs into `[dev-dependencies]`.
//!
//! No engine, no sleeping, nothing left running: what a call did is in the database when it returns. It is the engine's own claim, pipeline
//! and finishing statement, so that leases, retries, deduplication and keys are what they are in production.
//!
//! ```no_run
//! # use queue::{HeldJob, Job, JobError, JobHandler, testing::TestKit};
//! # #[derive(serde::Serialize, serde::Deserialize)] struct GenerateInvoice { order_id: u64 }
//! # impl Job for GenerateInvoice { const JOB_TYPE: &'static str = "invoice.generate"; }
//! # struct Invoicing;
//! # impl JobHandler<GenerateInvoice> for Invoicing {
//! #     type Output = String;
//! #     async fn run(&self, _: GenerateInvoice, _: &HeldJob) -> Result<String, JobError> { Ok("INV-7".into()) }
//! # }
//! # async fn place_order(client: &queue::Client) -> Result<(), Box<dyn std::error::Error>> { Ok(()) }
//! #[sqlx::test(migrator = "queue::MIGRATOR")]
//! async fn an_order_gets_its_invoice(pool: sqlx::PgPool) -> Result<(), Box<dyn std::error::Error>> {
//!     let kit = TestKit::open(&pool).await?.handle(Invoicing);
//!     place_order(kit.client()).await?;
//!
//!     kit.assert_enqueued(|job: &GenerateInvoice| job.order_id == 7).await;
//!     let done = kit.run_next::<GenerateInvoice>().await?.expect("an invoice to be written");
//!     assert_eq!(done.result, Some("INV-7".into()));
//!     assert!(kit.run_until_idle().await?.is_empty());
//!     Ok(())
//! }
//! ```

mod enqueued;

pub use enqueued::Enqueued;

use crate::{
    Client, EngineConfig, QueueError,
    job::{Job, JobHandler},
    maintenance::Maintenance,
    store::jobs,
    worker::{DEFAULT_PROGRAM, Handlers, by_hand},
};
use model::{
    actor::Scope,
    id::{JobId, WorkerId},
    job::JobDetail,
};
use sqlx::PgPool;

/// Runs of one call, after which something goes round in circles.
const MOST_RUNS: usize = 10_000;

/// Runs jobs by hand. Have no engine on the same database meanwhile.
#[derive(Clone)]
pub struct TestKit {
    pool: PgPool,
    client: Client,
    config: EngineConfig,
    handlers: Handlers,
}

impl TestKit {
    /// On a database that is migrated (`#[sqlx::test(migrator = "queue::MIGRATOR")]`, or [`migrate::run_beside`](crate::migrate::run_beside) in the test),
    /// with a client of the app `test`. Waits before retries are the default schedule's, without their random part.
    ///
    /// # Errors
    /// When the database is away.
    pub async fn open(pool: &PgPool) -> Result<Self, QueueError> {
        Self::open_for(pool, DEFAULT_PROGRAM).await
    }

    /// The same for the [program](crate::Runner::program) of this name: the kit runs its jobs and no others.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn open_for(pool: &PgPool, program: &str) -> Result<Self, QueueError> {
        let client = Client::open_for(pool, "test", program).await?;
        let mut config = EngineConfig { breaker_failures: 0, ..EngineConfig::default() };
        config.backoff.jitter = 0.0;
        crate::store::partitions::make_ahead(pool).await?;
        Ok(Self { pool: pool.clone(), client, config, handlers: Handlers::none().program(program) })
    }

    /// As [`Runner::handle`](crate::Runner::handle).
    #[must_use]
    pub fn handle<J: Job>(mut self, handler: impl JobHandler<J>) -> Self {
        self.handlers = self.handlers.handle(handler);
        self
    }

    /// Runs jobs with these handlers, of their program, instead of those registered so far.
    #[must_use]
    pub fn handlers(self, handlers: Handlers) -> Self {
        Self { handlers, ..self }
    }

    /// Another configuration: time-outs, waits.
    #[must_use]
    pub fn config(self, config: EngineConfig) -> Self {
        Self { config, ..self }
    }

    /// A client of the app `test`.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// One attempt at this job, now: one that is scheduled or waits for its retry has its time come. Answers the job as it stands
    /// afterwards, with its attempts and its result.
    ///
    /// # Errors
    /// [`QueueError::WrongState`] when it cannot be claimed: it has ended, stands behind another of its serialize key, or its lane is
    /// paused, full or out of its rate limit. [`QueueError::NotFound`] when there is no such job.
    pub async fn run(&self, id: JobId) -> Result<JobDetail, QueueError> {
        self.pass_time(Some(id)).await?;
        match self.attempt(Some(id)).await? {
            Some(job) => Ok(job),
            None => {
                let status = jobs::get(&self.pool, Scope::AllApps, id).await?.job.status;
                Err(QueueError::WrongState { status, wanted: "run now" })
            }
        }
    }

    /// One attempt at the job of this type that a worker would take first; none when no worker would take one now.
    ///
    /// # Errors
    /// When the database is away.
    pub async fn run_next<J: Job>(&self) -> Result<Option<JobDetail>, QueueError> {
        self.promote().await?;
        for id in jobs::in_line(&self.pool, J::JOB_TYPE).await? {
            if let Some(job) = self.attempt(Some(id)).await? {
                return Ok(Some(job));
            }
        }
        Ok(None)
    }

    /// Runs everything a worker would take, what comes of it too, until there is nothing more: jobs that wait for a time or a retry go on
    /// waiting. Answers the attempts in their order, each with its job as it stood then.
    ///
    /// # Errors
    /// When the database is away.
    ///
    /// # Panics
    /// After 10,000 attempts: a job enqueues itself over and over.
    pub async fn run_until_idle(&self) -> Result<Vec<JobDetail>, QueueError> {
        let mut ran = Vec::new();
        while let Some(job) = self.next().await? {
            ran.push(job);
            assert!(ran.len() < MOST_RUNS, "still not idle after {MOST_RUNS} attempts");
        }
        Ok(ran)
    }

    /// The same, and jumps over every wait: to the last retry of the last job, however far ahead it is scheduled.
    ///
    /// # Errors
    /// When the database is away.
    ///
    /// # Panics
    /// After 10,000 attempts: a job enqueues itself over and over, or is snoozed without end.
    pub async fn run_to_the_end(&self) -> Result<Vec<JobDetail>, QueueError> {
        let mut ran = Vec::new();
        loop {
            let more = self.run_until_idle().await?;
            let is_idle = more.is_empty();
            ran.extend(more);
            assert!(ran.len() < MOST_RUNS, "still not at the end after {MOST_RUNS} attempts");
            if self.jump().await? == 0 && is_idle {
                return Ok(ran);
            }
        }
    }

    /// Jumps to when everything that waits is due; answers how many jobs that are. Nothing is run, and no other time changes.
    ///
    /// # Errors
    /// When the database is away.
    pub async fn jump(&self) -> Result<u64, QueueError> {
        self.pass_time(None).await
    }

    /// Runs the queue's maintenance once: lost leases, counters, retention.
    ///
    /// # Errors
    /// The first service's that fails.
    pub async fn maintain(&self) -> Result<(), QueueError> {
        Maintenance::run_once(&self.pool, &self.config, Vec::new()).await?;
        Ok(())
    }

    async fn next(&self) -> Result<Option<JobDetail>, QueueError> {
        self.promote().await?;
        self.attempt(None).await
    }

    async fn promote(&self) -> Result<(), QueueError> {
        let mut connection = self.pool.acquire().await?;
        jobs::promote_everything(&mut connection).await
    }

    /// Claims and runs one job, this one or whosever turn it is.
    async fn attempt(&self, id: Option<JobId>) -> Result<Option<JobDetail>, QueueError> {
        let worker_id = WorkerId::generate();
        let program = self.handlers.program_name();
        let Some(job) = jobs::claim_one(&self.pool, worker_id, program, id).await? else { return Ok(None) };
        let id = job.id;
        by_hand::run_claimed(&self.pool, &self.config, &self.handlers, job).await;
        jobs::sign_off(&self.pool, worker_id).await?;
        jobs::get(&self.pool, Scope::AllApps, id).await.map(Some)
    }

    async fn pass_time(&self, id: Option<JobId>) -> Result<u64, QueueError> {
        let mut transaction = self.pool.begin().await?;
        let passed = jobs::let_time_pass(&mut transaction, id).await?;
        transaction.commit().await?;
        Ok(passed)
    }
}
