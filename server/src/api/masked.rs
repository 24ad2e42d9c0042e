//! What the one who asks may see of payloads and answers.

use super::problem::Problem;
use crate::state::AppState;
use model::{
    actor::Actor,
    filter::JobFilter,
    rules::{
        masking::Sensitive,
        permission::{Permission, is_allowed},
    },
};

/// The same, without what is secret in it for those who may not see that.
pub(super) async fn shown<T: Sensitive>(state: &AppState, actor: &Actor, what: T) -> Result<T, Problem> {
    if is_allowed(actor.role, Permission::ReadUnmasked) {
        return Ok(what);
    }
    let (what, _) = state.delivery.masked(what).await?;
    Ok(what)
}

/// What a list is narrowed to, as the one who asks may ask it.
pub(super) async fn askable(
    state: &AppState,
    actor: &Actor,
    filter: &JobFilter,
) -> Result<JobFilter, Problem> {
    Ok(state.delivery.filter_for(actor, filter, "payload.").await?)
}
