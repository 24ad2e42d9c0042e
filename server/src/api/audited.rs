//! What somebody changed goes into the audit log. Events and jobs do not: they are the traffic, not the steering.

use super::problem::Problem;
use crate::state::AppState;
use access::audit::{Entry, record};
use model::actor::Actor;
use std::future::Future;

/// How often a change is tried that loses against others every time.
const TRIES: usize = 4;

/// Records what was just done. Done it stays: an entry that could not be written goes to the log instead, because an error here would
/// make the caller do it again.
pub(super) async fn done(state: &AppState, actor: &Actor, entry: Entry) {
    let action = entry.action;
    if let Err(error) = try_done(state, actor, entry).await {
        tracing::error!(%error, action, actor = actor.owner(), "an audit entry could not be written");
    }
}

async fn try_done(state: &AppState, actor: &Actor, entry: Entry) -> Result<(), access::AccessError> {
    let mut conn = state.pool.acquire().await?;
    record(&mut conn, actor, entry).await
}

/// What a change is made in, and what holds its entry too.
pub(super) type Tx = sqlx::Transaction<'static, sqlx::Postgres>;

/// The transaction again, what was made in it, and what to record of that.
pub(super) type Made<T> = (Tx, T, Entry);

/// Makes a change and its entry in one transaction, and [`again`] when that lost a race.
pub(super) async fn change<T, F: Future<Output = Result<Made<T>, Problem>>>(
    state: &AppState,
    actor: &Actor,
    make: impl Fn(Tx) -> F,
) -> Result<T, Problem> {
    again(|| once(state, actor, &make)).await
}

/// A change and its entry in one transaction.
pub(super) async fn once<T, F: Future<Output = Result<Made<T>, Problem>>>(
    state: &AppState,
    actor: &Actor,
    make: impl Fn(Tx) -> F,
) -> Result<T, Problem> {
    let (mut tx, made, entry) = make(state.pool.begin().await?).await?;
    record(&mut tx, actor, entry).await?;
    tx.commit().await?;
    Ok(made)
}

/// Tries again when the database broke a try off in favour of another transaction: a worker that ends the same jobs, a deletion that meets
/// them from the other side. Nothing of such a try is stored, and nobody waits for a second one.
pub(super) async fn again<T, F: Future<Output = Result<T, Problem>>>(
    try_it: impl Fn() -> F,
) -> Result<T, Problem> {
    for _ in 1..TRIES {
        match try_it().await {
            Err(problem) if problem.lost_a_race() => {}
            done => return done,
        }
    }
    try_it().await
}
