//! What the one who asks may see.

use super::problem::Problem;
use crate::state::AppState;
use model::{actor::Actor, filter::JobFilter, rules::masking::Sensitive};

/// The same, without what is not for the one who asks.
pub(super) async fn shown<T: Sensitive>(state: &AppState, actor: &Actor, what: T) -> Result<T, Problem> {
    Ok(state.delivery.shown_to(actor, what).await?)
}

/// What a list is narrowed to, as the one who asks may ask it.
pub(super) async fn askable(
    state: &AppState,
    actor: &Actor,
    filter: &JobFilter,
) -> Result<JobFilter, Problem> {
    Ok(state.delivery.filter_for(actor, filter, "payload.").await?)
}
