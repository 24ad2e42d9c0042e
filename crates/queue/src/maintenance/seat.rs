//! The connection the leader's lease is held through: one of its own, because a pool the work has used up must not cost the lead.

use crate::{
    error::QueueError,
    pool,
    store::leader::{self, Term},
};
use model::id::WorkerId;
use sqlx::{Connection as _, PgConnection, PgPool};
use std::time::Duration;
use tokio::time::timeout;

/// How long an answer may take before the connection is given up.
const PATIENCE: Duration = Duration::from_secs(2);

/// One process's place in the row of those who would lead.
pub(super) struct Seat {
    pool: PgPool,
    holder: WorkerId,
    connection: Option<PgConnection>,
}

impl Seat {
    pub(super) fn new(pool: PgPool, holder: WorkerId) -> Self {
        Self { pool, holder, connection: None }
    }

    /// Closes the connection.
    pub(super) async fn leave(self) {
        if let Some(connection) = self.connection {
            // A farewell the server does not hear changes nothing.
            let _ = timeout(PATIENCE, connection.close()).await;
        }
    }

    /// Becomes the leader, if nobody is.
    pub(super) async fn take(&mut self, lease: Duration) -> Result<Option<Term>, QueueError> {
        let mut connection = self.connection().await?;
        let taken = in_time(leader::take(&mut connection, self.holder, lease)).await;
        self.keep_sound(connection, &taken);
        taken
    }

    /// Prolongs the lease; false when it is lost.
    pub(super) async fn renew(&mut self, term: Term, lease: Duration) -> Result<bool, QueueError> {
        let mut connection = self.connection().await?;
        let renewed = in_time(leader::renew(&mut connection, term, lease)).await;
        self.keep_sound(connection, &renewed);
        renewed
    }

    /// Gives the lease back.
    pub(super) async fn release(&mut self, term: Term) -> Result<(), QueueError> {
        let mut connection = self.connection().await?;
        let released = in_time(leader::release(&mut connection, term)).await;
        self.keep_sound(connection, &released);
        released
    }

    async fn connection(&mut self) -> Result<PgConnection, QueueError> {
        if let Some(connection) = self.connection.take() {
            return Ok(connection);
        }
        let options = self.pool.connect_options();
        in_time(async {
            let mut connection = PgConnection::connect_with(&options).await?;
            pool::prepare(&mut connection, Some(PATIENCE)).await?;
            Ok(connection)
        })
        .await
    }

    /// A connection that failed or was given up in the middle of an answer is not used again.
    fn keep_sound<T>(&mut self, connection: PgConnection, answer: &Result<T, QueueError>) {
        if answer.is_ok() {
            self.connection = Some(connection);
        }
    }
}

async fn in_time<T>(asked: impl Future<Output = Result<T, QueueError>>) -> Result<T, QueueError> {
    timeout(PATIENCE, asked).await.unwrap_or(Err(QueueError::Unavailable(sqlx::Error::PoolTimedOut)))
}
