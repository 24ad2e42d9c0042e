//! What somebody changed goes into the audit log. Events and jobs do not: they are the traffic, not the steering.

use super::problem::Problem;
use crate::state::AppState;
use access::audit::{Entry, record};
use model::actor::Actor;

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

/// Begins a transaction that holds a change and its entry together.
pub(super) async fn begin(state: &AppState) -> Result<sqlx::Transaction<'static, sqlx::Postgres>, Problem> {
    Ok(state.pool.begin().await?)
}
