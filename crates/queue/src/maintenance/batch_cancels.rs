//! Cancels the jobs of cancelled batches, any of which may be poisonous.

use super::{
    MaintenanceHealth,
    passed_over::PassedOver,
    portions::{Done, begin, in_portions},
};
use crate::{
    error::QueueError,
    pool::end,
    store::{
        jobs::{self, BEGIN},
        leader::Term,
    },
};
use futures::future::BoxFuture;
use model::id::{BatchId, JobId};
use sqlx::{PgConnection, PgPool};
use std::time::Instant;

/// Cancels the jobs of batches in portions. A job that cannot be cancelled is logged, counted with the service's
/// `passed_over`, and tried again after a minute or more; it does not block others.
#[derive(Debug)]
pub struct BatchCancels {
    passed_over: PassedOver,
    limit: i64,
}

impl BatchCancels {
    /// For the service of this name, up to `limit` jobs at once.
    #[must_use]
    pub fn of(service: &'static str, limit: i64) -> Self {
        Self { passed_over: PassedOver::by(service), limit }
    }

    /// For [`Service::watch`](super::Service::watch).
    pub fn watch(&self, health: &MaintenanceHealth) {
        self.passed_over.watch(health);
    }

    /// Cancels a portion of a batch's waiting jobs; returns whether there may be more to cancel at once. `and_then` is called with the
    /// cancelled jobs, in the transaction that cancels them. Wake the workers afterwards.
    ///
    /// # Errors
    /// [`QueueError::LeaseLost`] when the term is over; the error of the jobs when most of them cannot be cancelled.
    pub async fn run_portion<F>(
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
        let now = Instant::now();
        let left_alone = self.passed_over.left_alone(now);
        let mut transaction = pool.begin_with(BEGIN).await?;
        let ids = jobs::batch_jobs_to_cancel(&mut transaction, batch_id, self.limit, &left_alone).await?;
        transaction.commit().await?;
        let and_then = &and_then;
        let Done { answers, faulty, error, .. } = in_portions(&ids, ids.len(), |portion| async move {
            let mut transaction = begin(pool, term).await?;
            let count = async {
                let cancelled = jobs::cancel_these(&mut transaction, batch_id, why, &portion).await?;
                let count = cancelled.len();
                and_then(&mut transaction, cancelled).await?;
                Ok(count)
            }
            .await;
            end(transaction, count).await
        })
        .await;
        for (id, error) in &faulty {
            self.passed_over.note(*id, error);
        }
        self.passed_over.forget_old(now);
        let count: usize = answers.iter().sum();
        let is_full = i64::try_from(count).is_ok_and(|count| count >= self.limit);
        error.map_or(Ok(is_full), Err)
    }
}
