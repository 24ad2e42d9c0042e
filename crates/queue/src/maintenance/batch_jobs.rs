//! Parks, resumes and cancels the jobs of batches, any of which may be poisonous.

use super::MaintenanceHealth;
use super::passed_over::PassedOver;
use super::portions::{self, Done, in_portions};
use crate::error::QueueError;
use crate::store::connections::end;
use crate::store::jobs::{self, BEGIN};
use crate::store::leader::Term;
use crate::store::retention;
use futures::future::BoxFuture;
use model::id::{BatchId, JobId};
use sqlx::{PgConnection, PgPool};
use std::time::Instant;

/// Moves the jobs of batches in portions. A job that cannot be moved is logged, counted with the service's `passed_over`, and tried again after a minute
/// or more; it does not block others.
///
/// Each function returns whether there may be more to move at once. They fail with [`QueueError::TermOver`] when the term is over, and with the error of
/// the jobs when most of them cannot be moved.
#[derive(Debug)]
pub struct BatchJobs {
    passed_over: PassedOver,
    limit: i64,
}

impl BatchJobs {
    /// For the service of this name, up to `limit` jobs at once.
    #[must_use]
    pub fn of(service: &'static str, limit: i64) -> Self {
        Self { passed_over: PassedOver::by(service), limit }
    }

    /// For [`Service::watch`](super::Service::watch).
    pub fn watch(&self, health: &MaintenanceHealth) {
        self.passed_over.watch(health);
    }

    /// Parks a portion of a paused batch's waiting jobs.
    pub async fn park(&self, pool: &PgPool, term: Term, batch_id: BatchId) -> Result<bool, QueueError> {
        let mut transaction = pool.begin_with(BEGIN).await?;
        let ids = jobs::jobs_to_park(&mut transaction, batch_id, self.limit, &self.left_alone()).await?;
        transaction.commit().await?;
        let parked = self.in_portions(&ids, |portion| async move {
            let mut transaction = retention::begin(pool, term).await?;
            let parked = jobs::park_these(&mut transaction, batch_id, &portion).await;
            end(transaction, parked).await
        });
        let (parked, error) = parked.await;
        self.is_more(parked.iter().sum(), error)
    }

    /// Resumes a portion of a batch's parked jobs, unless it is paused. Wake the workers afterwards.
    pub async fn resume(&self, pool: &PgPool, term: Term, batch_id: BatchId) -> Result<bool, QueueError> {
        let mut transaction = pool.begin_with(BEGIN).await?;
        let ids = jobs::jobs_to_resume(&mut transaction, batch_id, self.limit, &self.left_alone()).await?;
        transaction.commit().await?;
        let resumed = self.in_portions(&ids, |portion| async move {
            let mut transaction = retention::begin(pool, term).await?;
            let resumed = jobs::resume_these(&mut transaction, batch_id, &portion).await;
            end(transaction, resumed).await
        });
        let (resumed, error) = resumed.await;
        self.is_more(resumed.iter().sum(), error)
    }

    /// Cancels a portion of a batch's waiting jobs. `and_then` is called with the cancelled jobs, in the transaction that cancels them. Wake the workers
    /// afterwards.
    pub async fn cancel<F>(
        &self,
        pool: &PgPool,
        term: Term,
        batch_id: BatchId,
        why: &str,
        and_then: F,
    ) -> Result<bool, QueueError>
    where
        F: for<'a> Fn(&'a mut PgConnection, Vec<JobId>) -> BoxFuture<'a, Result<(), QueueError>>
            + Send
            + Sync,
    {
        let mut transaction = pool.begin_with(BEGIN).await?;
        let ids =
            jobs::batch_jobs_to_cancel(&mut transaction, batch_id, self.limit, &self.left_alone()).await?;
        transaction.commit().await?;
        let and_then = &and_then;
        let cancelled = self.in_portions(&ids, |portion| async move {
            let mut transaction = portions::begin(pool, term).await?;
            let count = async {
                let cancelled = jobs::cancel_these(&mut transaction, batch_id, why, &portion).await?;
                let count = cancelled.len() as i64;
                and_then(&mut transaction, cancelled).await?;
                Ok(count)
            }
            .await;
            end(transaction, count).await
        });
        let (cancelled, error) = cancelled.await;
        self.is_more(cancelled.iter().sum(), error)
    }

    fn left_alone(&self) -> Vec<JobId> {
        self.passed_over.left_alone(Instant::now())
    }

    /// How many of each portion were moved, and why the rest was not tried.
    async fn in_portions<F>(
        &self,
        ids: &[JobId],
        act: impl FnMut(Vec<JobId>) -> F,
    ) -> (Vec<i64>, Option<QueueError>)
    where
        F: Future<Output = Result<i64, QueueError>>,
    {
        let Done { answers, faulty, error, .. } = in_portions(ids, ids.len(), act).await;
        self.passed_over.note(faulty.iter().map(|(id, error)| (*id, error)));
        self.passed_over.forget_old(Instant::now());
        (answers, error)
    }

    fn is_more(&self, moved: i64, error: Option<QueueError>) -> Result<bool, QueueError> {
        error.map_or(Ok(moved >= self.limit), Err)
    }
}
