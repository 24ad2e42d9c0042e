//! Enqueues many jobs at once.

use super::{Client, PORTION};
use crate::{Job, NewJob, QueueError};
use futures::{Stream, StreamExt as _, future::BoxFuture};
use model::job::{EnqueueOutcome, EnqueuedJob};
use sqlx::{Acquire, Postgres};

/// Counts of accepted jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bulk {
    /// New jobs.
    pub created: u64,
    /// Jobs folded into another one of the same deduplication id.
    pub coalesced: u64,
}

impl Bulk {
    /// How many jobs of the input were accepted: where to continue after an error.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.created + self.coalesced
    }

    fn add(&mut self, accepted: &[EnqueuedJob]) {
        let created = accepted.iter().filter(|job| job.outcome == EnqueueOutcome::Created).count() as u64;
        self.created += created;
        self.coalesced += accepted.len() as u64 - created;
    }
}

/// Why a stream of jobs was not accepted to its end. Earlier portions stay accepted.
#[derive(Debug, thiserror::Error)]
#[error("the jobs after the first {} were not accepted", .accepted.accepted())]
pub struct BulkError {
    /// What was accepted before the error.
    pub accepted: Bulk,
    /// Why the next portion was refused as a whole.
    #[source]
    pub source: QueueError,
}

impl Client {
    /// Enqueues any number of jobs of a type, all or none, on anything that [`enqueue`](Self::enqueue) takes. Returns, in the order of the input, the
    /// job that will do the work of each.
    ///
    /// One statement enqueues 1,000 jobs (`UNNEST`). Jobs and answers are kept in memory, and locks (of deduplication ids and serialize keys) until the
    /// end of the transaction: fine for some 100,000 jobs. Use [`enqueue_stream`](Self::enqueue_stream) for more.
    ///
    /// # Errors
    /// As with [`enqueue`](Self::enqueue).
    pub fn enqueue_many<'a, J: Job, N: Into<NewJob<J>>>(
        &'a self,
        on: impl Acquire<'a, Database = Postgres> + Send + 'a,
        jobs: impl IntoIterator<Item = N>,
    ) -> BoxFuture<'a, Result<Vec<EnqueuedJob>, QueueError>> {
        let new: Vec<NewJob<J>> = jobs.into_iter().map(Into::into).collect();
        Box::pin(async move {
            if new.is_empty() {
                return Ok(Vec::new());
            }
            let mut connection = on.acquire().await?;
            self.accept(&mut connection, &new).await
        })
    }

    /// Enqueues a stream of jobs of a type, however long. Each 1,000 are committed by themselves, so that memory and locks stay small and workers start
    /// at once. `futures::stream::iter` turns an iterator into a stream.
    ///
    /// # Errors
    /// [`BulkError`] says how many were accepted: continue from there. Jobs with a deduplication id can be enqueued again from the start.
    pub async fn enqueue_stream<J: Job, N: Into<NewJob<J>>>(
        &self,
        jobs: impl Stream<Item = N> + Send,
    ) -> Result<Bulk, BulkError> {
        let mut accepted = Bulk::default();
        let mut portions = std::pin::pin!(jobs.map(Into::into).chunks(PORTION));
        while let Some(portion) = portions.next().await {
            let portion: Vec<NewJob<J>> = portion;
            match self.enqueue_many(&self.pool, portion).await {
                Ok(jobs) => accepted.add(&jobs),
                Err(source) => return Err(BulkError { accepted, source }),
            }
        }
        Ok(accepted)
    }
}
