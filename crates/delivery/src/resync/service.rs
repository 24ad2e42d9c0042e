//! The maintenance service of re-syncs: reads the catalog, completes re-syncs, cancels, parks and resumes their jobs.
//!
//! It works portion by portion and keeps its state in the database, so that the next leader continues where a process died.

use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt as _;
use model::{resync::ResyncState, text::causes};
use queue::QueueError;
use queue::maintenance::{BatchJobs, MaintenanceHealth, Service};
use queue::store::jobs::{BEGIN, batches_to_resume};
use queue::store::leader::{self, Term};
use sqlx::PgPool;

use super::control::{self, CANCELLED};
use super::{PORTION, portion};
use crate::store::resyncs as rows;
use crate::store::resyncs::Unfinished;
use crate::{Delivery, DeliveryError};

/// As health and metrics know it.
const NAME: &str = "resyncs";

pub(crate) struct Resyncs {
    delivery: Delivery,
    pauses: BatchJobs,
    cancellations: BatchJobs,
}

impl Resyncs {
    pub(crate) fn new(delivery: Delivery) -> Self {
        Self { delivery, pauses: BatchJobs::of(NAME, PORTION), cancellations: BatchJobs::of(NAME, PORTION) }
    }

    /// One portion of one re-sync; true when more can follow at once.
    async fn advance(&self, resync: &Unfinished, term: Term) -> Result<bool, DeliveryError> {
        let Unfinished { id, batch_id, state } = *resync;
        let pool = &self.delivery.pool;
        let has_more_waiting = match state {
            ResyncState::Paused => self.pauses.park(pool, term, batch_id).await?,
            ResyncState::Cancelled => {
                let cancelling = self.cancellations.cancel(pool, term, batch_id, CANCELLED, |conn, ended| {
                    let delivery = self.delivery.clone();
                    async move { control::enqueue_live_changes(&delivery, conn, id, &ended).await }.boxed()
                });
                cancelling.await?
            }
            ResyncState::Running | ResyncState::Completed => false,
        };
        let mut transaction = pool.begin_with(BEGIN).await?;
        leader::confirm(&mut transaction, term).await?;
        let has_more = match state {
            ResyncState::Cancelled => {
                rows::finish_cancelling(&mut transaction, id).await?;
                has_more_waiting
            }
            ResyncState::Paused => has_more_waiting,
            ResyncState::Running | ResyncState::Completed => {
                portion::enumerate(&self.delivery, &mut transaction, id).await? == portion::Progress::More
            }
        };
        rows::complete_if_done(&mut transaction, id).await?;
        transaction.commit().await?;
        if state != ResyncState::Paused {
            self.delivery.wake();
        }
        Ok(has_more)
    }

    /// Resumes a portion of each batch that has parked jobs and is not paused: it was resumed, or a job was parked meanwhile. A batch that
    /// fails does not stop the others.
    async fn resume_portion(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        let mut has_more = false;
        let mut last_error = None;
        for batch_id in batches_to_resume(pool).await? {
            match self.pauses.resume(pool, term, batch_id).await {
                Ok(more) => has_more |= more,
                Err(error @ (QueueError::Unavailable(_) | QueueError::TermOver)) => return Err(error),
                Err(error) => {
                    tracing::warn!(batch.id = %batch_id, error = %error.with_causes(), "the jobs of batch {batch_id} could not be resumed");
                    last_error = Some(error);
                }
            }
            self.delivery.wake();
        }
        last_error.map_or(Ok(has_more), Err)
    }
}

#[async_trait]
impl Service for Resyncs {
    fn name(&self) -> &'static str {
        NAME
    }

    fn watch(&self, health: &MaintenanceHealth) {
        self.pauses.watch(health);
        self.cancellations.watch(health);
    }

    fn sign(&self) -> Option<&'static str> {
        Some(
            "exists (select from headgate.resyncs where finished_at is null or is_cancelling) \
             or exists (select from headgate.jobs where is_parked)",
        )
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(1)
    }

    /// Does a portion of each re-sync, so that a large catalog does not delay the others. One that fails does not stop them either.
    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        let mut has_more = false;
        let mut last_error = None;
        for resync in rows::unfinished(pool).await? {
            let id = resync.id;
            match self.advance(&resync, term).await {
                Ok(more) => has_more |= more,
                Err(DeliveryError::Queue(QueueError::TermOver)) => return Err(QueueError::TermOver),
                Err(error) => {
                    tracing::warn!(resync.id = %id, error = %causes(&error), "re-sync {id} could not be continued");
                    if let DeliveryError::Queue(error) = error {
                        last_error = Some(error);
                    }
                }
            }
        }
        has_more |= self.resume_portion(pool, term).await?;
        last_error.map_or(Ok(has_more), Err)
    }
}
