//! A transaction that wakes workers when it commits.

use super::Client;
use crate::{Job, NewJob, QueueError};
use futures::future::BoxFuture;
use model::job::EnqueuedJob;
use sqlx::{PgConnection, Postgres, Transaction};
use std::ops::{Deref, DerefMut};

/// A transaction of sqlx that can enqueue, and wakes workers when it has committed. Use it like one: `execute(&mut *tx)`. Dropping it rolls it
/// back, and no job is enqueued.
pub struct JobTransaction {
    client: Client,
    transaction: Transaction<'static, Postgres>,
}

impl JobTransaction {
    pub(super) fn new(client: Client, transaction: Transaction<'static, Postgres>) -> Self {
        Self { client, transaction }
    }

    /// As [`Client::enqueue`], inside this transaction.
    pub fn enqueue<J: Job>(
        &mut self,
        job: impl Into<NewJob<J>>,
    ) -> BoxFuture<'_, Result<EnqueuedJob, QueueError>> {
        self.client.enqueue(&mut *self.transaction, job)
    }

    /// As [`Client::enqueue_many`], inside this transaction.
    pub fn enqueue_many<J: Job, N: Into<NewJob<J>>>(
        &mut self,
        jobs: impl IntoIterator<Item = N>,
    ) -> BoxFuture<'_, Result<Vec<EnqueuedJob>, QueueError>> {
        self.client.enqueue_many(&mut *self.transaction, jobs)
    }

    /// Commits, then wakes workers.
    pub async fn commit(self) -> Result<(), QueueError> {
        self.transaction.commit().await?;
        self.client.wake();
        Ok(())
    }

    /// Rolls back. If this fails because the database is away, nothing is stored either.
    pub async fn rollback(self) -> Result<(), QueueError> {
        Ok(self.transaction.rollback().await?)
    }
}

impl Deref for JobTransaction {
    type Target = PgConnection;
    fn deref(&self) -> &PgConnection {
        &self.transaction
    }
}

impl DerefMut for JobTransaction {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.transaction
    }
}
