//! A test kit for programs with jobs: it runs them on a real database, one after the other, each until its end is recorded.
//!
//! It comes with the cargo feature `testing`, which belongs into `[dev-dependencies]`.
//!
//! There is no engine and no sleeping, and nothing is left running: when a call returns, its effects are in the database. It uses the engine's own
//! claim, pipeline and finishing statement, so leases, retries, deduplication and keys behave as in production.
//!
//! ```no_run
//! # use queue::{LeasedJob, Job, JobError, JobHandler, testing::TestKit};
//! # #[derive(serde::Serialize, serde::Deserialize)] struct GenerateInvoice { order_id: u64 }
//! # impl Job for GenerateInvoice { const JOB_TYPE: &'static str = "invoice.generate"; }
//! # struct Invoicing;
//! # impl JobHandler<GenerateInvoice> for Invoicing {
//! #     type Output = String;
//! #     async fn run(&self, _: GenerateInvoice, _: &LeasedJob) -> Result<String, JobError> { Ok("INV-7".into()) }
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
mod with_limits;

pub use enqueued::Enqueued;
pub use with_limits::{leased_job, recount, reindex};

use crate::maintenance::Maintenance;
use crate::store::jobs;
use crate::worker::{DEFAULT_PROGRAM, Handlers, by_hand};
use crate::{Client, EngineConfig, Job, JobHandler, QueueError};
use model::actor::Scope;
use model::id::{JobId, WorkerId};
use model::job::JobDetail;
use sqlx::PgPool;

/// A call that makes more attempts than this is in an endless loop.
const MAX_RUNS: usize = 10_000;

/// Runs jobs in tests. Run no engine on the same database meanwhile.
#[derive(Clone)]
pub struct TestKit {
    pool: PgPool,
    client: Client,
    config: EngineConfig,
    handlers: Handlers,
}

impl TestKit {
    /// A kit for a migrated database (`#[sqlx::test(migrator = "queue::MIGRATOR")]`, or [`migrate::run_embedded`](crate::migrate::run_embedded) in the
    /// test), with a client of the app `test`. Retries have the waits of the default schedule without jitter.
    pub async fn open(pool: &PgPool) -> Result<Self, QueueError> {
        Self::open_for(pool, DEFAULT_PROGRAM).await
    }

    /// As [`open`](Self::open), for the [program](crate::Runner::program) with this name: the kit runs only its jobs.
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

    /// Replaces the handlers registered so far, and the program by that of `handlers`.
    #[must_use]
    pub fn handlers(self, handlers: Handlers) -> Self {
        Self { handlers, ..self }
    }

    /// Replaces the configuration: time-outs, waits.
    #[must_use]
    pub fn config(self, config: EngineConfig) -> Self {
        Self { config, ..self }
    }

    /// A client of the app `test`.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Makes one attempt at this job now, even if it is scheduled or waits for its retry. Returns the job afterwards, with its attempts and its result.
    ///
    /// # Errors
    /// [`QueueError::WrongState`] when it cannot be claimed: it has ended, waits behind another one of its serialize key, or its lane is paused, full
    /// or at its rate limit. [`QueueError::NotFound`].
    pub async fn run(&self, id: JobId) -> Result<JobDetail, QueueError> {
        self.make_due(Some(id)).await?;
        match self.attempt(Some(id)).await? {
            Some(job) => Ok(job),
            None => {
                let status = jobs::get(&self.pool, Scope::AllApps, id).await?.job.status;
                Err(QueueError::WrongState { status, wanted: "run now" })
            }
        }
    }

    /// Makes one attempt at the job of this type that a worker would claim first; none when no worker would claim one now.
    pub async fn run_next<J: Job>(&self) -> Result<Option<JobDetail>, QueueError> {
        self.promote().await?;
        for id in jobs::claim_order(&self.pool, J::JOB_TYPE).await? {
            if let Some(job) = self.attempt(Some(id)).await? {
                return Ok(Some(job));
            }
        }
        Ok(None)
    }

    /// Runs everything a worker would claim, including jobs that are enqueued meanwhile, until nothing is left. Jobs that wait for a time or a retry
    /// keep waiting. Returns the jobs in the order of the attempts, each as it was after its attempt.
    ///
    /// # Panics
    /// After 10,000 attempts: a job enqueues itself over and over.
    pub async fn run_until_idle(&self) -> Result<Vec<JobDetail>, QueueError> {
        let mut ran = Vec::new();
        while let Some(job) = self.next().await? {
            ran.push(job);
            assert!(ran.len() < MAX_RUNS, "still not idle after {MAX_RUNS} attempts");
        }
        Ok(ran)
    }

    /// As [`run_until_idle`](Self::run_until_idle), but skips every wait: to the last retry of the last job, however far ahead it is scheduled.
    ///
    /// # Panics
    /// After 10,000 attempts: a job enqueues itself over and over, or is snoozed without end.
    pub async fn run_to_the_end(&self) -> Result<Vec<JobDetail>, QueueError> {
        let mut ran = Vec::new();
        loop {
            let more = self.run_until_idle().await?;
            let is_idle = more.is_empty();
            ran.extend(more);
            assert!(ran.len() < MAX_RUNS, "still not at the end after {MAX_RUNS} attempts");
            if self.skip_waits().await? == 0 && is_idle {
                return Ok(ran);
            }
        }
    }

    /// Makes every waiting job due, and returns how many. Nothing is run, and no other time changes.
    pub async fn skip_waits(&self) -> Result<u64, QueueError> {
        self.make_due(None).await
    }

    /// Runs all maintenance services once: lost leases, counters, retention. Returns the first error.
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

    /// Claims and runs one job: the given one, or the next.
    async fn attempt(&self, id: Option<JobId>) -> Result<Option<JobDetail>, QueueError> {
        let worker_id = WorkerId::generate();
        let program = self.handlers.program_name();
        let Some(job) = jobs::claim_one(&self.pool, worker_id, program, id).await? else { return Ok(None) };
        let id = job.id;
        by_hand::run_claimed(&self.pool, &self.config, &self.handlers, job).await;
        jobs::remove_worker(&self.pool, worker_id).await?;
        jobs::get(&self.pool, Scope::AllApps, id).await.map(Some)
    }

    async fn make_due(&self, id: Option<JobId>) -> Result<u64, QueueError> {
        let mut transaction = self.pool.begin().await?;
        let passed = jobs::let_time_pass(&mut transaction, id).await?;
        transaction.commit().await?;
        Ok(passed)
    }
}
