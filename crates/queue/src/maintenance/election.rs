//! Election: acquires and renews the leader's lease, on a connection of its own, because a pool that the work has exhausted must not cost the lead.

use crate::error::{QueueError, Result};
use crate::pool;
use crate::store::leader::{self, Candidate, Term};
use sqlx::{Connection as _, PgConnection, PgPool};
use std::time::Duration;
use tokio::time::timeout;

/// After so long without an answer the connection is given up.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// A process's part in the election.
pub(super) struct Election {
    pool: PgPool,
    candidate: Candidate,
    connection: Option<PgConnection>,
}

impl Election {
    pub(super) fn new(pool: PgPool, candidate: Candidate) -> Self {
        Self { pool, candidate, connection: None }
    }

    /// Closes the connection.
    pub(super) async fn close(self) {
        if let Some(connection) = self.connection {
            // Nothing is pending on it: a failed close loses nothing.
            let _ = timeout(ANSWER_TIMEOUT, connection.close()).await;
        }
    }

    /// Becomes the leader, if there is none or one with fewer services.
    pub(super) async fn acquire(&mut self, lease: Duration) -> Result<Option<Term>> {
        let mut connection = self.connection().await?;
        let acquired = with_timeout(leader::acquire(&mut connection, self.candidate, lease)).await;
        self.keep_sound(connection, &acquired);
        acquired
    }

    /// Renews the lease; false when it is lost.
    pub(super) async fn renew(&mut self, term: Term, lease: Duration) -> Result<bool> {
        let mut connection = self.connection().await?;
        let renewed = with_timeout(leader::renew(&mut connection, term, lease)).await;
        self.keep_sound(connection, &renewed);
        renewed
    }

    pub(super) async fn release(&mut self, term: Term) -> Result<()> {
        let mut connection = self.connection().await?;
        let released = with_timeout(leader::release(&mut connection, term)).await;
        self.keep_sound(connection, &released);
        released
    }

    async fn connection(&mut self) -> Result<PgConnection> {
        if let Some(connection) = self.connection.take() {
            return Ok(connection);
        }
        with_timeout(async { Ok(pool::connect_alone(&self.pool, Some(ANSWER_TIMEOUT)).await?) }).await
    }

    /// A connection that failed, or was given up before its answer, is not used again.
    fn keep_sound<T>(&mut self, connection: PgConnection, answer: &Result<T>) {
        if answer.is_ok() {
            self.connection = Some(connection);
        }
    }
}

async fn with_timeout<T>(answer: impl Future<Output = Result<T>>) -> Result<T> {
    timeout(ANSWER_TIMEOUT, answer).await.unwrap_or(Err(QueueError::Unavailable(sqlx::Error::PoolTimedOut)))
}
