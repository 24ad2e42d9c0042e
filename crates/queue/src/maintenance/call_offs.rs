//! Calls off the jobs of batches that were cancelled, of which one may be poisonous.

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

/// What a service calls off, batch by batch and portion by portion. A job that cannot be ended is named, counted with the service's
/// `passed_over`, and tried again after a minute or more; it keeps no other.
#[derive(Debug)]
pub struct CallOffs {
    passed_over: PassedOver,
    most: i64,
}

impl CallOffs {
    /// Of the service of this name, up to `most` jobs at once.
    #[must_use]
    pub fn of(service: &'static str, most: i64) -> Self {
        Self { passed_over: PassedOver::by(service), most }
    }

    /// For [`Service::watch`](super::Service::watch).
    pub fn watch(&self, health: &MaintenanceHealth) {
        self.passed_over.watch(health);
    }

    /// Calls off a portion of a batch's jobs that wait; answers whether there may be more that can be called off at once. What follows from it
    /// is done by `and_then`, with those that ended, in the transaction that ends them. Wake the workers afterwards.
    ///
    /// # Errors
    /// When the database is away, or most of the jobs cannot be ended; [`QueueError::LeaseLost`] when the term is over.
    pub async fn carry_out<F>(
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
        let mut looking = pool.begin_with(BEGIN).await?;
        let ids = jobs::to_call_off(&mut looking, batch_id, self.most, &left_alone).await?;
        looking.commit().await?;
        let and_then = &and_then;
        let Done { answers, faulty, error, .. } = in_portions(&ids, ids.len(), |portion| async move {
            let mut transaction = begin(pool, term).await?;
            let ended = async {
                let ended = jobs::call_these_off(&mut transaction, batch_id, why, &portion).await?;
                let count = ended.len();
                and_then(&mut transaction, ended).await?;
                Ok(count)
            }
            .await;
            end(transaction, ended).await
        })
        .await;
        for (id, error) in &faulty {
            self.passed_over.note(*id, error);
        }
        self.passed_over.forget_old(now);
        let count: usize = answers.iter().sum();
        let is_full = i64::try_from(count).is_ok_and(|count| count >= self.most);
        error.map_or(Ok(is_full), Err)
    }
}
