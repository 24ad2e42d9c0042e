//! The leader's part: reads on, ends what is done, calls off what was cancelled.

use std::time::Duration;

use async_trait::async_trait;
use model::{id::ResyncId, resync::ResyncState};
use queue::{
    QueueError,
    maintenance::Service,
    store::{
        jobs::BEGIN,
        leader::{self, Term},
    },
};
use sqlx::PgPool;

use super::{chunk, steer};
use crate::{Delivery, DeliveryError, store::resyncs as rows};

pub(super) struct Resyncs {
    delivery: Delivery,
}

impl Resyncs {
    pub(super) fn new(delivery: Delivery) -> Self {
        Self { delivery }
    }

    /// One portion of one re-sync; true when more can follow at once.
    async fn advance(&self, id: ResyncId, state: ResyncState, term: Term) -> Result<bool, DeliveryError> {
        let mut transaction = self.delivery.pool.begin_with(BEGIN).await?;
        leader::confirm(&mut transaction, term).await?;
        let has_more = if state == ResyncState::Cancelled {
            steer::call_off(&self.delivery, &mut transaction, id).await?
        } else {
            chunk::enumerate(&self.delivery, &mut transaction, id).await? == chunk::Progress::More
        };
        rows::complete_if_done(&mut transaction, id).await?;
        transaction.commit().await?;
        self.delivery.wake();
        Ok(has_more)
    }
}

#[async_trait]
impl Service for Resyncs {
    fn name(&self) -> &'static str {
        "resyncs"
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(1)
    }

    /// A portion of each, so that a large catalog does not keep others waiting; one that cannot go on does not keep them either.
    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        let mut has_more = false;
        let mut trouble = None;
        for (id, state) in rows::unfinished(pool).await? {
            match self.advance(id, state, term).await {
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
        trouble.map_or(Ok(has_more), Err)
    }
}
