//! For those who enqueue.

mod bulk;
pub(crate) mod lane;
mod transaction;

pub use bulk::{Bulk, BulkError};
pub use lane::LaneOptions;
pub use transaction::JobTransaction;

use crate::{
    QueueError, Waker,
    job::{Job, NewJob},
    store::{
        jobs::{self, BEGIN},
        own_lanes,
    },
    worker::{DEFAULT_PROGRAM, EngineHandle},
};
use futures::future::BoxFuture;
use model::{
    actor::Scope,
    id::{AppId, IntegrationId, JobId},
    job::{EnqueuedJob, JobDetail},
};
use sqlx::{Acquire, Connection as _, PgConnection, PgPool, Postgres};
use std::sync::Arc;

/// The lane a client begins with.
const DEFAULT_LANE: &str = "jobs";
/// Jobs accepted by one statement.
const CHUNK: usize = 1_000;
/// How often a transaction of ours is repeated that lost a race.
const TRIES: usize = 5;

/// Enqueues jobs into a lane of an app. Cheap to clone.
///
/// An *app* is whom jobs belong to: one of your customers, or simply your program. A *lane* is a line of jobs with a concurrency (and a rate
/// limit) of its own; all lanes with work get their turn, so that a flood in one holds up no other. Operators see a lane as an integration of
/// type `external`, where they can pause it.
///
/// # Transactions
///
/// Every method that enqueues takes what sqlx users have at hand. In a transaction the jobs are there when it commits, and are not when it is
/// rolled back:
///
/// ```no_run
/// # use queue::{Client, Job};
/// # #[derive(serde::Serialize, serde::Deserialize)] struct GenerateInvoice { order_id: i64 }
/// # impl Job for GenerateInvoice { const JOB_TYPE: &'static str = "invoice.generate"; }
/// # async fn example(pool: sqlx::PgPool) -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::open(&pool, "shop").await?;
///
/// // On its own: a transaction is made for it, and workers are woken up.
/// client.enqueue(&pool, GenerateInvoice { order_id: 7 }).await?;
///
/// // With your data: `commit` wakes the workers up.
/// let mut tx = client.begin().await?;
/// let order_id: i64 = sqlx::query_scalar("insert into orders default values returning id").fetch_one(&mut *tx).await?;
/// tx.enqueue(GenerateInvoice { order_id }).await?;
/// tx.commit().await?;
///
/// // In a transaction you began yourself: one call after its commit. Without it the job begins within `poll_interval` (1 s).
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
    /// A client of the app with this slug (1 to 63 lower case letters, digits and hyphens), which is made when there is none, with its
    /// lane `jobs`. Call it inside a runtime, after [`migrate::run_beside`](crate::migrate::run_beside) (a [`Runner`](crate::Runner) calls that).
    ///
    /// # Errors
    /// [`QueueError::Invalid`] for a slug that is none; when the database is away.
    pub async fn open(pool: &PgPool, app: &str) -> Result<Self, QueueError> {
        Self::open_for(pool, app, DEFAULT_PROGRAM).await
    }

    /// The same for jobs that another program of the database does: its [`Runner`](crate::Runner) was given this name with
    /// [`Runner::program`](crate::Runner::program) (1 to 100 characters). Its lanes are its own, also where two programs call one alike.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn open_for(pool: &PgPool, app: &str, program: &str) -> Result<Self, QueueError> {
        lane::check_program(program)?;
        model::app::NewApp { name: app.to_owned(), slug: Some(app.to_owned()) }.check()?;
        let options = LaneOptions::new(DEFAULT_LANE);
        let mut transaction = pool.begin().await?;
        let app_id = own_lanes::hold_app(&mut transaction, app).await?;
        let integration_id = own_lanes::ensure(&mut transaction, app_id, &options.wanted(program)).await?;
        transaction.commit().await?;
        let waker = Waker::new(pool.clone());
        Ok(Self { pool: pool.clone(), app_id, integration_id, program: program.into(), waker })
    }

    pub(crate) fn wake_directly(&self, engine: &EngineHandle) {
        self.waker.wake_directly(engine);
    }

    /// A client for another lane of the same app, which is made when there is none.
    ///
    /// What `options` say is written at each call, so that code is where it is decided; what they do not say stays as it is, as an
    /// operator may have set it.
    ///
    /// # Errors
    /// [`QueueError::Invalid`] with every fault of the options; [`QueueError::NotFound`] when the app was deleted; when the database is
    /// away.
    pub async fn lane(&self, options: &LaneOptions) -> Result<Self, QueueError> {
        options.check()?;
        let mut transaction = self.pool.begin().await?;
        own_lanes::hold_app_by_id(&mut transaction, self.app_id).await?;
        let wanted = options.wanted(&self.program);
        let integration_id = own_lanes::ensure(&mut transaction, self.app_id, &wanted).await?;
        transaction.commit().await?;
        Ok(Self { integration_id, ..self.clone() })
    }

    /// Whose jobs they are.
    #[must_use]
    pub fn app_id(&self) -> AppId {
        self.app_id
    }

    /// The lane, as the API and the console name it.
    #[must_use]
    pub fn integration_id(&self) -> IntegrationId {
        self.integration_id
    }

    /// Enqueues one job on a `&PgPool`, a `&mut PgConnection` or a `&mut Transaction`. The answer names the job that will do the work, and
    /// says whether it is a new one or one it was folded into.
    ///
    /// # Errors
    /// [`QueueError::Invalid`] with every fault of the job; [`QueueError::NotFound`] when the lane was deleted or disabled; when the
    /// database is away. In a transaction of yours that loses a race ([`QueueError::lost_a_race`]), repeat that.
    // A boxed future, because that of an `async fn` which is generic over `Acquire` cannot be sent to another thread as soon as a
    // connection is borrowed: no task could enqueue in a transaction.
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

    /// Begins a transaction that can enqueue and wakes workers up when it is committed.
    ///
    /// # Errors
    /// When the database is away.
    pub async fn begin(&self) -> Result<JobTransaction, QueueError> {
        Ok(JobTransaction::new(self.clone(), self.pool.begin().await?))
    }

    /// Wakes the workers of all processes up. Call it after the commit of a transaction of yours that enqueued; all else does so by itself.
    /// Calls within a few milliseconds are gathered into one.
    pub fn wake(&self) {
        self.waker.jobs_added();
    }

    /// A job of this app, with its attempts, its progress and its result.
    ///
    /// # Errors
    /// [`QueueError::NotFound`] when there is none, or no more: finished jobs are kept for `retention`.
    pub async fn job(&self, id: JobId) -> Result<JobDetail, QueueError> {
        jobs::get(&self.pool, Scope::App(self.app_id), id).await
    }

    /// Calls a job of this app off. One that runs is stopped by its worker, a moment later (its handler's future is dropped), and stays
    /// `processing` with `cancel_requested_at` until then, so that no other job of its deduplication id or serialize key begins beside it; if
    /// it completes before, it did complete. A handler that blocks its thread learns of it by [`HeldJob::progress`](crate::worker::HeldJob::progress).
    ///
    /// # Errors
    /// [`QueueError::NotFound`], or [`QueueError::WrongState`] when it has ended.
    pub async fn cancel(&self, id: JobId) -> Result<(), QueueError> {
        let mut transaction = self.pool.begin().await?;
        jobs::cancel(&mut transaction, Scope::App(self.app_id), id).await?;
        Ok(transaction.commit().await?)
    }

    /// Accepts jobs, all or none: inside the transaction the connection is in, or in one of its own.
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
            // One statement is a transaction of its own: two round trips less.
            match jobs::enqueue_alone(connection, &alone?).await {
                Ok(accepted) => {
                    self.wake();
                    return Ok(vec![accepted]);
                }
                // A session whose transactions are serialisable: by one that is not.
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
                Err(error) if error.lost_a_race() && tries < TRIES => transaction.rollback().await?,
                Err(error) => return Err(error),
            }
        }
    }

    async fn accept_here<J: Job>(
        &self,
        connection: &mut PgConnection,
        new: &[NewJob<J>],
    ) -> Result<Vec<EnqueuedJob>, QueueError> {
        let place = own_lanes::hold(connection, self.integration_id).await?;
        let mut accepted = Vec::with_capacity(new.len());
        for chunk in new.chunks(CHUNK) {
            let specs = chunk.iter().map(|new| new.spec(&place)).collect::<Result<Vec<_>, _>>()?;
            accepted.extend(jobs::enqueue(connection, &specs).await?);
        }
        Ok(accepted)
    }
}
