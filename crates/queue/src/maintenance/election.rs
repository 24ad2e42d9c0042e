//! Election: acquires and renews the leader's lease, on a connection of its own, because a pool that the work has exhausted must not cost the lead.

use crate::error::{Result, within};
use crate::pool::connect_alone;
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
        let candidate = self.candidate;
        self.ask(async |connection| leader::acquire(connection, candidate, lease).await).await
    }

    /// Renews the lease; false when it is lost.
    pub(super) async fn renew(&mut self, term: Term, lease: Duration) -> Result<bool> {
        self.ask(async |connection| leader::renew(connection, term, lease).await).await
    }

    pub(super) async fn release(&mut self, term: Term) -> Result<()> {
        self.ask(async |connection| leader::release(connection, term).await).await
    }

    async fn ask<T>(&mut self, ask: impl AsyncFnOnce(&mut PgConnection) -> Result<T>) -> Result<T> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let connecting = async { Ok(connect_alone(&self.pool, Some(ANSWER_TIMEOUT)).await?) };
                within(ANSWER_TIMEOUT, connecting).await?
            }
        };
        let answer = within(ANSWER_TIMEOUT, ask(&mut connection)).await;
        // A connection that failed, or was given up before its answer, is not used again.
        if answer.is_ok() {
            self.connection = Some(connection);
        }
        answer
    }
}
