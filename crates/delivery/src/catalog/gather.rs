//! Small requests that come at once are taken in by one transaction: under load one wait for the disk and one wake-up serve many.

use std::sync::Arc;

use model::record::Accepted;
use queue::QueueError;
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};

use super::accept::Request;
use crate::{
    Delivery, DeliveryError,
    together::{Limits, Together},
};

/// Larger requests have a transaction of their own.
pub(super) const MAX_SMALL: usize = 20;
/// At most 500 events a transaction, and one after the other: eight clients that send one event each are served by half the transactions
/// that two at a time would take, and sooner.
const LIMITS: Limits = Limits { rounds: 1, weight: 500, gathers: true };

/// What became of a request.
type Answer = Result<Accepted, DeliveryError>;

/// The same, at the end of a round.
pub(super) enum Outcome {
    Known(Answer),
    /// It is done by itself, and may take longer than the round.
    Coming(oneshot::Receiver<Answer>),
}

/// Requests that wait for a record somebody holds: each keeps a connection.
const MAX_PATIENT: usize = 4;

/// Where small requests wait for the next transaction.
pub(crate) struct Gathering {
    together: Arc<Together<Request, Outcome>>,
    patient: Semaphore,
}

impl Default for Gathering {
    fn default() -> Self {
        Self { together: Together::new(LIMITS), patient: Semaphore::new(MAX_PATIENT) }
    }
}

impl Gathering {
    pub(super) async fn accept(
        &self,
        delivery: &Delivery,
        request: Request,
    ) -> Result<Accepted, DeliveryError> {
        let (delivery, weight) = (delivery.clone(), request.events.len());
        let commit = move |requests: Vec<Request>| {
            let delivery = delivery.clone();
            async move { delivery.commit_together(requests).await }
        };
        let answer = match self.together.ask(request, weight, commit).await {
            Some(Outcome::Known(answer)) => Some(answer),
            Some(Outcome::Coming(answer)) => answer.await.ok(),
            None => None,
        };
        // A panic: whether it was stored is not known.
        answer.unwrap_or_else(|| Err(QueueError::from(sqlx::Error::WorkerCrashed).into()))
    }

    /// The turn of one that waits; none only when the program ends.
    pub(super) async fn patient(&self) -> Option<SemaphorePermit<'_>> {
        self.patient.acquire().await.ok()
    }
}
