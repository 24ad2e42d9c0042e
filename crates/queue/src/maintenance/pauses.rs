//! Holds the jobs of paused batches and lets those of resumed ones go, of which one may be poisonous.

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

/// What a service holds and lets go, batch by batch and portion by portion. A job that cannot be moved is named, counted with the service's
/// `passed_over`, and tried again after a minute or more; it keeps no other.
#[derive(Debug)]
pub struct Pauses {
    passed_over: PassedOver,
    most: i64,
}

#[derive(Clone, Copy)]
enum Way {
    Hold,
    LetGo,
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
        self.carry_out(pool, term, batch_id, Way::Hold).await
    }

    /// Lets a portion of a batch's held jobs go, unless it is paused; answers whether there may be more. Wake the workers afterwards.
    ///
    /// # Errors
    /// As [`hold`](Self::hold).
    pub async fn let_go(&self, pool: &PgPool, term: Term, batch_id: BatchId) -> Result<bool, QueueError> {
        self.carry_out(pool, term, batch_id, Way::LetGo).await
    }

    async fn carry_out(
        &self,
        pool: &PgPool,
        term: Term,
        batch_id: BatchId,
        way: Way,
    ) -> Result<bool, QueueError> {
        let left_alone = self.passed_over.left_alone(Instant::now());
        let mut looking = pool.begin_with(BEGIN).await?;
        let ids = match way {
            Way::Hold => jobs::to_hold(&mut looking, batch_id, self.most, &left_alone).await?,
            Way::LetGo => jobs::to_let_go(&mut looking, batch_id, self.most, &left_alone).await?,
        };
        looking.commit().await?;
        let Done { answers, faulty, error, .. } = in_portions(&ids, ids.len(), |portion| async move {
            let mut transaction = pool.begin_with(BEGIN).await?;
            leader::confirm(&mut transaction, term).await?;
            let moved = match way {
                Way::Hold => jobs::hold_these(&mut transaction, batch_id, &portion).await,
                Way::LetGo => jobs::let_these_go(&mut transaction, batch_id, &portion).await,
            };
            end(transaction, moved).await
        })
        .await;
        for (id, error) in &faulty {
            self.passed_over.note(*id, error);
        }
        self.passed_over.forget_old(Instant::now());
        let count: i64 = answers.iter().sum();
        error.map_or(Ok(count >= self.most), Err)
    }
}
