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

/// Makes a change, each try in a transaction of its own, and again when the database broke it off in favour of another: a worker that ends
/// the same jobs, a deletion that meets them from the other side. Nothing of such a try is stored, and nobody waits for a second one.
pub(super) async fn change<T, F: Future<Output = Result<T, Problem>>>(
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

/// Begins a transaction that holds a change and its entry together.
pub(super) async fn begin(state: &AppState) -> Result<sqlx::Transaction<'static, sqlx::Postgres>, Problem> {
    Ok(state.pool.begin().await?)
}
