//! The client, which enqueues jobs.

pub(crate) mod bulk;
pub(crate) mod lane;
pub(crate) mod transaction;

use crate::store::jobs::{self, BEGIN};
use crate::store::own_lanes;
use crate::worker::{DEFAULT_PROGRAM, Engine};
use crate::{Job, JobTransaction, LaneOptions, NewJob, QueueError, Waker};
use futures::future::BoxFuture;
use model::actor::Scope;
use model::id::{AppId, IntegrationId, JobId};
use model::job::{EnqueuedJob, JobDetail};
use sqlx::{Acquire, Connection as _, PgConnection, PgPool, Postgres};
use std::sync::Arc;

/// The lane of a client until [`Client::lane`] selects another.
const DEFAULT_LANE: &str = "jobs";
/// Jobs accepted by one statement.
const PORTION: usize = 1_000;
/// How often a transaction of ours that loses a race is tried.
const MAX_TRIES: usize = 5;

/// Enqueues jobs into a lane of an app. Cheap to clone.
///
/// An *app* is the tenant that jobs belong to: one of your customers, or simply your program. A *lane* is a line of jobs with a concurrency limit
/// and a rate limit of its own; lanes with work take turns, so that a flood in one does not hold up the others. Operators see a lane as an
/// integration of type `external`, and can pause it.
///
/// # Transactions
///
/// Every method that enqueues takes a pool, a connection or a transaction of sqlx. In a transaction the jobs are enqueued if and only if it
/// commits:
///
/// ```no_run
/// # use queue::{Client, Job};
/// # #[derive(serde::Serialize, serde::Deserialize)] struct GenerateInvoice { order_id: i64 }
/// # impl Job for GenerateInvoice { const JOB_TYPE: &'static str = "invoice.generate"; }
/// # async fn example(pool: sqlx::PgPool) -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::open(&pool, "shop").await?;
///
/// // In a transaction of its own; workers are woken.
/// client.enqueue(&pool, GenerateInvoice { order_id: 7 }).await?;
///
/// // Together with your data: `commit` wakes the workers.
/// let mut tx = client.begin().await?;
/// let order_id: i64 = sqlx::query_scalar("insert into orders default values returning id").fetch_one(&mut *tx).await?;
/// tx.enqueue(GenerateInvoice { order_id }).await?;
/// tx.commit().await?;
///
/// // In a transaction you began yourself: wake the workers after its commit, or the job starts within `poll_interval` (1 s).
/// let mut tx = pool.begin().await?;
/// client.enqueue(&mut *tx, GenerateInvoice { order_id: 8 }).await?;
/// tx.commit().await?;
/// client.wake();
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Client {
    pool: PgPool,
    app_id: AppId,
    integration_id: IntegrationId,
    program: Arc<str>,
    waker: Waker,
}

impl Client {
    /// A client of the app with this slug (1 to 63 lower case letters, digits and hyphens) and its lane `jobs`; both are created if missing. Call it
    /// inside a tokio runtime, after [`migrate::run_embedded`](crate::migrate::run_embedded) (which a [`Runner`](crate::Runner) calls).
    ///
    /// # Errors
    /// [`QueueError::Invalid`] for an invalid slug.
    pub async fn open(pool: &PgPool, app: &str) -> Result<Self, QueueError> {
        Self::open_for(pool, app, DEFAULT_PROGRAM).await
    }

    /// As [`open`](Self::open), for jobs of the program with this name (1 to 100 characters), as given to
    /// [`Runner::program`](crate::Runner::program). Lanes of two programs are separate even if they have the same name.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn open_for(pool: &PgPool, app: &str, program: &str) -> Result<Self, QueueError> {
        lane::check_program(program)?;
        model::app::NewApp { name: app.to_owned(), slug: Some(app.to_owned()) }.check()?;
        let options = LaneOptions::new(DEFAULT_LANE);
        let mut transaction = pool.begin().await?;
        let app_id = own_lanes::lock_app(&mut transaction, app).await?;
        let integration_id = own_lanes::ensure(&mut transaction, app_id, program, &options).await?;
        transaction.commit().await?;
        let waker = Waker::new(pool.clone());
        Ok(Self { pool: pool.clone(), app_id, integration_id, program: program.into(), waker })
    }

    pub(crate) fn wake_directly(&self, engine: &Engine) {
        self.waker.wake_directly(engine);
    }

    /// A client for another lane of the same app; the lane is created if missing.
    ///
    /// Every call writes the options that are given, so that your code decides them. Others stay as they are, perhaps as an operator has set them.
    ///
    /// # Errors
    /// [`QueueError::Invalid`] with every fault of the options; [`QueueError::NotFound`] when the app was deleted.
    pub async fn lane(&self, options: &LaneOptions) -> Result<Self, QueueError> {
        options.check()?;
        let mut transaction = self.pool.begin().await?;
        own_lanes::lock_app_by_id(&mut transaction, self.app_id).await?;
        let integration_id = own_lanes::ensure(&mut transaction, self.app_id, &self.program, options).await?;
        transaction.commit().await?;
        Ok(Self { integration_id, ..self.clone() })
    }

    /// The app that the jobs belong to.
    #[must_use]
    pub fn app_id(&self) -> AppId {
        self.app_id
    }

    /// The lane's id in the API and the console.
    #[must_use]
    pub fn integration_id(&self) -> IntegrationId {
        self.integration_id
    }

    /// Enqueues one job on a `&PgPool`, a `&mut PgConnection` or a `&mut Transaction`. Returns the job that will do the work, and whether that is a
    /// new one or the one it was folded into.
    ///
    /// # Errors
    /// [`QueueError::Invalid`] with every fault of the job; [`QueueError::NotFound`] when the lane was deleted or disabled. If a transaction of
    /// yours loses a race ([`QueueError::lost_a_race`]), repeat it.
    // A boxed future, because the future of an `async fn` that is generic over `Acquire` is not `Send` once a connection is borrowed: no spawned task
    // could enqueue in a transaction.
    pub fn enqueue<'a, J: Job>(
        &'a self,
        on: impl Acquire<'a, Database = Postgres> + Send + 'a,
        job: impl Into<NewJob<J>>,
    ) -> BoxFuture<'a, Result<EnqueuedJob, QueueError>> {
        let new = [job.into()];
        Box::pin(async move {
            let mut connection = on.acquire().await?;
            let accepted = self.accept(&mut connection, &new).await?;
            accepted.into_iter().next().ok_or(QueueError::NotFound)
        })
    }

    /// Begins a transaction that can enqueue, and wakes workers when it is committed.
    pub async fn begin(&self) -> Result<JobTransaction, QueueError> {
        Ok(JobTransaction::new(self.clone(), self.pool.begin().await?))
    }

    /// Wakes the workers of all processes. It is needed only after the commit of a transaction of yours that enqueued. Calls within a few
    /// milliseconds are combined.
    pub fn wake(&self) {
        self.waker.wake();
    }

    /// A job of this app, with its attempts, its progress and its result.
    ///
    /// # Errors
    /// [`QueueError::NotFound`] also for a job that finished longer ago than finished jobs are kept.
    pub async fn job(&self, id: JobId) -> Result<JobDetail, QueueError> {
        jobs::get(&self.pool, Scope::App(self.app_id), id).await
    }

    /// Cancels a job of this app. The worker of a running job is asked to stop it, which drops its handler's future a moment later. Until then the job
    /// stays `processing` with `cancel_requested_at`, so that no other job of its deduplication id or serialize key starts; if it completes first, it
    /// is completed. A handler that blocks its thread learns of the request through [`LeasedJob::progress`](crate::worker::LeasedJob::progress).
    ///
    /// # Errors
    /// [`QueueError::NotFound`]; [`QueueError::WrongState`] when it has ended.
    pub async fn cancel(&self, id: JobId) -> Result<(), QueueError> {
        let mut transaction = self.pool.begin().await?;
        jobs::cancel(&mut transaction, Scope::App(self.app_id), id).await?;
        Ok(transaction.commit().await?)
    }

    /// Accepts all jobs or none, in the connection's transaction or, if it has none, in a new one.
    async fn accept<J: Job>(
        &self,
        connection: &mut PgConnection,
        new: &[NewJob<J>],
    ) -> Result<Vec<EnqueuedJob>, QueueError> {
        if connection.is_in_transaction() {
            return self.accept_here(connection, new).await;
        }
        if let [one] = new
            && let Some(alone) = one.alone(self.app_id, self.integration_id)
        {
            // A single statement is its own transaction, which saves two round trips.
            match jobs::enqueue_single(connection, &alone?, one.max_attempts).await {
                Ok(accepted) => {
                    self.wake();
                    return Ok(vec![accepted]);
                }
                // The session's default isolation is serializable: retry in a transaction below, which is not.
                Err(error) if error.lost_a_race() => {}
                Err(error) => return Err(error),
            }
        }
        let mut tries = 0;
        loop {
            tries += 1;
            let mut transaction = connection.begin_with(BEGIN).await?;
            match self.accept_here(&mut transaction, new).await {
                Ok(accepted) => {
                    transaction.commit().await?;
                    self.wake();
                    return Ok(accepted);
                }
                Err(error) if error.lost_a_race() && tries < MAX_TRIES => transaction.rollback().await?,
                Err(error) => return Err(error),
            }
        }
    }

    async fn accept_here<J: Job>(
        &self,
        connection: &mut PgConnection,
        new: &[NewJob<J>],
    ) -> Result<Vec<EnqueuedJob>, QueueError> {
        let target = own_lanes::lock(connection, self.integration_id).await?;
        let mut accepted = Vec::with_capacity(new.len());
        for portion in new.chunks(PORTION) {
            let specs = portion.iter().map(|new| new.spec(&target)).collect::<Result<Vec<_>, _>>()?;
            accepted.extend(jobs::enqueue(connection, &specs).await?);
        }
        Ok(accepted)
    }
}
