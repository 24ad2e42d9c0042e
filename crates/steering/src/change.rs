//! A change and its line of the audit log.

use crate::{Steering, SteeringError};
use access::audit::{Entry, record};
use model::actor::Actor;
use std::future::Future;

/// How often a change is tried that loses against others every time.
const TRIES: usize = 4;

/// What a change is made in, and what holds its line too.
pub(crate) type Tx = sqlx::Transaction<'static, sqlx::Postgres>;

/// The transaction again, what was made in it, and what to record of that.
pub(crate) type Made<T> = (Tx, T, Entry);

impl Steering {
    /// Makes a change and its line in one transaction, and [`again`] when that lost a race.
    pub(crate) async fn change<T, F: Future<Output = Result<Made<T>, SteeringError>>>(
        &self,
        actor: &Actor,
        make: impl Fn(Tx) -> F,
    ) -> Result<T, SteeringError> {
        again(|| self.once(actor, &make)).await
    }

    /// A change and its line in one transaction.
    pub(crate) async fn once<T, F: Future<Output = Result<Made<T>, SteeringError>>>(
        &self,
        actor: &Actor,
        make: impl Fn(Tx) -> F,
    ) -> Result<T, SteeringError> {
        let (mut tx, made, entry) = make(self.pool().begin().await?).await?;
        record(&mut tx, actor, entry).await?;
        tx.commit().await?;
        Ok(made)
    }

    /// Records what was just done elsewhere. Done it stays: a line that could not be written goes to the log instead, because an error here
    /// would make the caller do it again.
    pub(crate) async fn done(&self, actor: &Actor, entry: Entry) {
        let action = entry.action;
        if let Err(error) = self.try_done(actor, entry).await {
            tracing::error!(%error, action, actor = actor.owner(), "an audit entry could not be written");
        }
    }

    async fn try_done(&self, actor: &Actor, entry: Entry) -> Result<(), SteeringError> {
        let mut conn = self.pool().acquire().await?;
        Ok(record(&mut conn, actor, entry).await?)
    }
}

/// Tries again when the database broke a try off in favour of another transaction: a worker that ends the same jobs, a deletion that meets
/// them from the other side. Nothing of such a try is stored, and nobody waits for a second one.
pub(crate) async fn again<T, F: Future<Output = Result<T, SteeringError>>>(
    try_it: impl Fn() -> F,
) -> Result<T, SteeringError> {
    for _ in 1..TRIES {
        match try_it().await {
            Err(error) if error.lost_a_race() => {
                tracing::warn!(error = %model::text::causes(&error), "a change lost a race and is made again");
            }
            done => return done,
        }
    }
    try_it().await
}
