//! Holds the jobs of paused batches and lets those of resumed ones go, of which one may be poisonous.

use super::{
    MaintenanceHealth,
    passed_over::PassedOver,
    portions::{Done, in_portions},
};
use crate::{
    error::QueueError,
    store::{
        jobs::{self, BEGIN},
        leader::{self, Term},
    },
};
use model::id::{BatchId, JobId};
use sqlx::PgPool;
use std::time::Instant;

/// What a service holds and lets go, batch by batch and portion by portion. A job that cannot be moved is named, counted with the service's
/// `passed_over`, and tried again after a minute or more; it keeps no other.
#[derive(Debug)]
pub struct Pauses {
    passed_over: PassedOver,
    most: i64,
}

impl Pauses {
    /// Of the service of this name, up to `most` jobs at once.
    #[must_use]
    pub fn of(service: &'static str, most: i64) -> Self {
        Self { passed_over: PassedOver::by(service), most }
    }

    /// For [`Service::watch`](super::Service::watch).
    pub fn watch(&self, health: &MaintenanceHealth) {
        self.passed_over.watch(health);
    }

    /// Holds a portion of a paused batch's waiting jobs; answers whether there may be more.
    ///
    /// # Errors
    /// When the database is away, or most of the jobs cannot be moved; [`QueueError::LeaseLost`] when the term is over.
    pub async fn hold(&self, pool: &PgPool, term: Term, batch_id: BatchId) -> Result<bool, QueueError> {
        let left_alone = self.passed_over.left_alone(Instant::now());
        let mut looking = pool.begin_with(BEGIN).await?;
        let ids = jobs::to_hold(&mut looking, batch_id, self.most, &left_alone).await?;
        looking.commit().await?;
        let done = in_portions(&ids, ids.len(), |portion| async move {
            let mut transaction = pool.begin_with(BEGIN).await?;
            leader::confirm(&mut transaction, term).await?;
            let held = jobs::hold_these(&mut transaction, batch_id, &portion).await;
            end(transaction, held).await
        })
        .await;
        self.sum(done)
    }

    /// Lets a portion of a batch's held jobs go, unless it is paused; answers whether there may be more. Wake the workers afterwards.
    ///
    /// # Errors
    /// As [`hold`](Self::hold).
    pub async fn let_go(&self, pool: &PgPool, term: Term, batch_id: BatchId) -> Result<bool, QueueError> {
        let left_alone = self.passed_over.left_alone(Instant::now());
        let mut looking = pool.begin_with(BEGIN).await?;
        let ids = jobs::to_let_go(&mut looking, batch_id, self.most, &left_alone).await?;
        looking.commit().await?;
        let done = in_portions(&ids, ids.len(), |portion| async move {
            let mut transaction = pool.begin_with(BEGIN).await?;
            leader::confirm(&mut transaction, term).await?;
            let freed = jobs::let_these_go(&mut transaction, batch_id, &portion).await;
            end(transaction, freed).await
        })
        .await;
        self.sum(done)
    }

    fn sum(&self, done: Done<JobId, i64>) -> Result<bool, QueueError> {
        let Done { answers, faulty, error, .. } = done;
        for (id, error) in &faulty {
            self.passed_over.note(*id, error);
        }
        self.passed_over.forget_old(Instant::now());
        let count: i64 = answers.iter().sum();
        error.map_or(Ok(count >= self.most), Err)
    }
}

/// Heard out: the halves of what failed would find its rows locked.
async fn end(
    transaction: sqlx::Transaction<'static, sqlx::Postgres>,
    answer: Result<i64, QueueError>,
) -> Result<i64, QueueError> {
    if answer.is_ok() {
        transaction.commit().await?;
    } else {
        transaction.rollback().await?;
    }
    answer
}
