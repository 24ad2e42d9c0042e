//! Parks the jobs of paused batches and resumes those of resumed ones, any of which may be poisonous.

use super::{
    MaintenanceHealth,
    passed_over::PassedOver,
    portions::{Done, in_portions},
};
use crate::{
    error::QueueError,
    pool::end,
    store::{
        jobs::{self, BEGIN},
        leader::{self, Term},
    },
};
use model::id::BatchId;
use sqlx::PgPool;
use std::time::Instant;

/// Parks and resumes the jobs of batches in portions. A job that cannot be moved is logged, counted with the service's
/// `passed_over`, and tried again after a minute or more; it does not block others.
#[derive(Debug)]
pub struct Pauses {
    passed_over: PassedOver,
    limit: i64,
}

#[derive(Clone, Copy)]
enum Action {
    Park,
    Resume,
}

impl Pauses {
    /// For the service of this name, up to `limit` jobs at once.
    #[must_use]
    pub fn of(service: &'static str, limit: i64) -> Self {
        Self { passed_over: PassedOver::by(service), limit }
    }

    /// For [`Service::watch`](super::Service::watch).
    pub fn watch(&self, health: &MaintenanceHealth) {
        self.passed_over.watch(health);
    }

    /// Parks a portion of a paused batch's waiting jobs; returns whether there may be more.
    ///
    /// # Errors
    /// [`QueueError::LeaseLost`] when the term is over; the error of the jobs when most of them cannot be moved.
    pub async fn park(&self, pool: &PgPool, term: Term, batch_id: BatchId) -> Result<bool, QueueError> {
        self.run_portion(pool, term, batch_id, Action::Park).await
    }

    /// Resumes a portion of a batch's parked jobs, unless it is paused; returns whether there may be more. Wake the workers afterwards.
    ///
    /// # Errors
    /// As [`park`](Self::park).
    pub async fn resume(&self, pool: &PgPool, term: Term, batch_id: BatchId) -> Result<bool, QueueError> {
        self.run_portion(pool, term, batch_id, Action::Resume).await
    }

    async fn run_portion(
        &self,
        pool: &PgPool,
        term: Term,
        batch_id: BatchId,
        action: Action,
    ) -> Result<bool, QueueError> {
        let left_alone = self.passed_over.left_alone(Instant::now());
        let mut transaction = pool.begin_with(BEGIN).await?;
        let ids = match action {
            Action::Park => jobs::jobs_to_park(&mut transaction, batch_id, self.limit, &left_alone).await?,
            Action::Resume => {
                jobs::jobs_to_resume(&mut transaction, batch_id, self.limit, &left_alone).await?
            }
        };
        transaction.commit().await?;
        let Done { answers, faulty, error, .. } = in_portions(&ids, ids.len(), |portion| async move {
            let mut transaction = pool.begin_with(BEGIN).await?;
            leader::confirm(&mut transaction, term).await?;
            let moved = match action {
                Action::Park => jobs::park_these(&mut transaction, batch_id, &portion).await,
                Action::Resume => jobs::resume_these(&mut transaction, batch_id, &portion).await,
            };
            end(transaction, moved).await
        })
        .await;
        for (id, error) in &faulty {
            self.passed_over.note(*id, error);
        }
        self.passed_over.forget_old(Instant::now());
        let count: i64 = answers.iter().sum();
        error.map_or(Ok(count >= self.limit), Err)
    }
}
