//! A transaction that wakes workers up.

use super::Client;
use crate::{
    QueueError,
    job::{Job, NewJob},
};
use futures::future::BoxFuture;
use model::job::EnqueuedJob;
use sqlx::{PgConnection, Postgres, Transaction};
use std::ops::{Deref, DerefMut};

/// A transaction of sqlx that can enqueue, and tells the workers when it has committed. Use it as one: `execute(&mut *tx)`. Dropped, it is
/// rolled back, and no job was enqueued.
pub struct JobTransaction {
    client: Client,
    transaction: Transaction<'static, Postgres>,
}

impl JobTransaction {
    pub(super) fn new(client: Client, transaction: Transaction<'static, Postgres>) -> Self {
        Self { client, transaction }
    }

    /// As [`Client::enqueue`], inside this transaction.
    ///
    /// # Errors
    /// As there.
    pub fn enqueue<J: Job>(
        &mut self,
        job: impl Into<NewJob<J>>,
    ) -> BoxFuture<'_, Result<EnqueuedJob, QueueError>> {
        self.client.enqueue(&mut *self.transaction, job)
    }

    /// As [`Client::enqueue_many`], inside this transaction.
    ///
    /// # Errors
    /// As there.
    pub fn enqueue_many<J: Job, N: Into<NewJob<J>>>(
        &mut self,
        jobs: impl IntoIterator<Item = N>,
    ) -> BoxFuture<'_, Result<Vec<EnqueuedJob>, QueueError>> {
        self.client.enqueue_many(&mut *self.transaction, jobs)
    }

    /// Commits, and wakes workers up.
    ///
    /// # Errors
    /// When the database is away, or refuses the commit.
    pub async fn commit(self) -> Result<(), QueueError> {
        self.transaction.commit().await?;
        self.client.wake();
        Ok(())
    }

    /// Leaves nothing behind.
    ///
    /// # Errors
    /// When the database is away: nothing is left behind either.
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
