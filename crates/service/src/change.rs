//! A change and its line of the audit log, in one transaction.

use crate::{Headgate, ServiceError};
use access::audit::{Entry, record};
use model::actor::Actor;
use std::future::Future;

/// How often a change is tried when it loses every race.
const MAX_TRIES: usize = 4;

pub(crate) type Tx = sqlx::Transaction<'static, sqlx::Postgres>;

/// The transaction, the result of the change, and its line of the audit log.
pub(crate) type Changed<T> = (Tx, T, Entry);

impl Headgate {
    /// Commits a change together with its line; see [`retry_lost_races`].
    pub(crate) async fn change<T, F: Future<Output = Result<Changed<T>, ServiceError>>>(
        &self,
        actor: &Actor,
        make: impl Fn(Tx) -> F,
    ) -> Result<T, ServiceError> {
        retry_lost_races(|| self.try_change(actor, &make)).await
    }

    async fn try_change<T, F: Future<Output = Result<Changed<T>, ServiceError>>>(
        &self,
        actor: &Actor,
        make: impl Fn(Tx) -> F,
    ) -> Result<T, ServiceError> {
        let (mut tx, result, entry) = make(self.pool().begin().await?).await?;
        record(&mut tx, actor, entry).await?;
        tx.commit().await?;
        Ok(result)
    }

    /// Records an action that is already done. A line that cannot be written is logged, since an error would make the caller repeat the action.
    pub(crate) async fn record_done(&self, actor: &Actor, entry: Entry) {
        let action = entry.action;
        if let Err(error) = self.try_record(actor, entry).await {
            tracing::error!(%error, action, actor = actor.owner(), "an audit entry could not be written");
        }
    }

    async fn try_record(&self, actor: &Actor, entry: Entry) -> Result<(), ServiceError> {
        let mut conn = self.pool().acquire().await?;
        Ok(record(&mut conn, actor, entry).await?)
    }
}

/// Retries at once when the database aborted the transaction in favour of another: a worker that ends the same jobs, or a deletion that locks
/// them in another order. Nothing of an aborted try is stored.
async fn retry_lost_races<T, F: Future<Output = Result<T, ServiceError>>>(
    change: impl Fn() -> F,
) -> Result<T, ServiceError> {
    for _ in 1..MAX_TRIES {
        match change().await {
            Err(error) if error.lost_a_race() => {
                tracing::warn!(error = %model::text::causes(&error), "a change lost a race and is retried");
            }
            result => return result,
        }
    }
    change().await
}
