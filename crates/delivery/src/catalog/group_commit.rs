//! Group commit: concurrent small requests share one transaction, so that under load one wait for the disk and one wake-up serve many.

use std::sync::Arc;

use model::event::Accepted;
use queue::QueueError;
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};

use super::request::Request;
use crate::DeliveryError;
use crate::batcher::{Batcher, Limits};

/// Larger requests have a transaction of their own.
pub(super) const MAX_SMALL: usize = 20;
/// At most 500 events a transaction, and one transaction at a time: eight clients that send one event each then take half the transactions
/// that two at a time would, and have their answers sooner.
const LIMITS: Limits = Limits { rounds: 1, weight: 500, lingers: true };

type Answer = Result<Accepted, DeliveryError>;

/// A request's answer at the end of a round.
pub(super) enum Outcome {
    Done(Answer),
    /// The request is committed separately, which may take longer than the round.
    Pending(oneshot::Receiver<Answer>),
}

/// Most requests that wait for a record locked elsewhere: each keeps a connection.
const MAX_LOCK_WAITERS: usize = 4;

pub(crate) struct GroupCommit {
    batcher: Arc<Batcher<Request, Outcome>>,
    lock_waiters: Semaphore,
}

impl Default for GroupCommit {
    fn default() -> Self {
        Self { batcher: Batcher::new(LIMITS), lock_waiters: Semaphore::new(MAX_LOCK_WAITERS) }
    }
}

impl GroupCommit {
    /// `commit` returns an outcome for each request, in their order.
    pub(super) async fn accept<F: Future<Output = Vec<Outcome>> + Send + 'static>(
        &self,
        request: Request,
        commit: impl Fn(Vec<Request>) -> F + Send + 'static,
    ) -> Result<Accepted, DeliveryError> {
        let weight = request.events.len();
        let answer = match self.batcher.submit(request, weight, commit).await {
            Some(Outcome::Done(answer)) => Some(answer),
            Some(Outcome::Pending(answer)) => answer.await.ok(),
            None => None,
        };
        // The commit panicked: whether the request was stored is not known.
        answer.unwrap_or_else(|| Err(QueueError::from(sqlx::Error::WorkerCrashed).into()))
    }

    /// Permits a request to wait for a lock; none only when the program ends.
    pub(super) async fn lock_wait_permit(&self) -> Option<SemaphorePermit<'_>> {
        self.lock_waiters.acquire().await.ok()
    }
}
