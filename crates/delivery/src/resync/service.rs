//! The leader's part: reads on, ends what is done, calls off what was cancelled, holds what is paused and lets go what is not.
//!
//! It works by what the database says now, portion by portion, so that whoever leads next goes on where a process died.

use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt as _;
use model::resync::ResyncState;
use queue::{
    QueueError,
    maintenance::{CallOffs, MaintenanceHealth, Pauses, Service},
    store::{
        jobs::{BEGIN, batches_to_let_go},
        leader::{self, Term},
    },
};
use sqlx::PgPool;

use super::{
    chunk,
    steer::{self, CANCELLED, CHUNK},
};
use crate::{
    Delivery, DeliveryError,
    store::resyncs::{self as rows, Unfinished},
};

/// As health and metrics know it.
const NAME: &str = "resyncs";

pub(super) struct Resyncs {
    delivery: Delivery,
    pauses: Pauses,
    call_offs: CallOffs,
}

impl Resyncs {
    pub(super) fn new(delivery: Delivery) -> Self {
        Self { delivery, pauses: Pauses::of(NAME, CHUNK), call_offs: CallOffs::of(NAME, CHUNK) }
    }

    /// One portion of one re-sync; true when more can follow at once.
    async fn advance(&self, resync: &Unfinished, term: Term) -> Result<bool, DeliveryError> {
        let Unfinished { id, batch_id, state } = *resync;
        let pool = &self.delivery.pool;
        let has_more_waiting = match state {
            ResyncState::Paused => self.pauses.hold(pool, term, batch_id).await?,
            ResyncState::Cancelled => {
                let go_on = self.call_offs.carry_out(pool, term, batch_id, CANCELLED, |conn, ended| {
                    let delivery = self.delivery.clone();
                    async move { steer::go_on_alone(&delivery, conn, id, &ended).await }.boxed()
                });
                go_on.await?
            }
            ResyncState::Running | ResyncState::Completed => false,
        };
        let mut transaction = pool.begin_with(BEGIN).await?;
        leader::confirm(&mut transaction, term).await?;
        let has_more = match state {
            ResyncState::Cancelled => {
                rows::called_off(&mut transaction, id).await?;
                has_more_waiting
            }
            ResyncState::Paused => has_more_waiting,
            ResyncState::Running | ResyncState::Completed => {
                chunk::enumerate(&self.delivery, &mut transaction, id).await? == chunk::Progress::More
            }
        };
        rows::complete_if_done(&mut transaction, id).await?;
        transaction.commit().await?;
        if state != ResyncState::Paused {
            self.delivery.wake();
        }
        Ok(has_more)
    }

    /// A portion of each batch that holds jobs and is not paused: it was resumed, or a job came back to it while that changed. One that cannot
    /// go on does not keep the others.
    async fn let_go(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        let mut has_more = false;
        let mut trouble = None;
        for batch_id in batches_to_let_go(pool).await? {
            match self.pauses.let_go(pool, term, batch_id).await {
                Ok(more) => has_more |= more,
                Err(error @ (QueueError::Unavailable(_) | QueueError::LeaseLost)) => return Err(error),
                Err(error) => {
                    tracing::warn!(batch.id = %batch_id, %error, "batch {batch_id} does not let its jobs go");
                    trouble = Some(error);
                }
            }
            self.delivery.wake();
        }
        trouble.map_or(Ok(has_more), Err)
    }
}

#[async_trait]
impl Service for Resyncs {
    fn name(&self) -> &'static str {
        NAME
    }

    fn watch(&self, health: &MaintenanceHealth) {
        self.pauses.watch(health);
        self.call_offs.watch(health);
    }

    fn sign(&self) -> Option<&'static str> {
        Some(
            "exists (select from headgate.resyncs where finished_at is null or is_calling_off) \
             or exists (select from headgate.jobs where is_held)",
        )
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(1)
    }

    /// A portion of each, so that a large catalog does not keep others waiting; one that cannot go on does not keep them either.
    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        let mut has_more = false;
        let mut trouble = None;
        for resync in rows::unfinished(pool).await? {
            let id = resync.id;
            match self.advance(&resync, term).await {
                Ok(more) => has_more |= more,
                Err(DeliveryError::Queue(QueueError::LeaseLost)) => return Err(QueueError::LeaseLost),
                Err(error) => {
                    tracing::warn!(resync.id = %id, %error, "re-sync {id} does not go on");
                    if let DeliveryError::Queue(error) = error {
                        trouble = Some(error);
                    }
                }
            }
        }
        has_more |= self.let_go(pool, term).await?;
        trouble.map_or(Ok(has_more), Err)
    }
}
