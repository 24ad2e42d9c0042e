//! What the one who asks may see.

use super::problem::Problem;
use crate::state::AppState;
use model::{actor::Actor, filter::JobFilter, rules::masking::Sensitive};

/// The same, without what is not for the one who asks.
pub(super) async fn shown<T: Sensitive>(state: &AppState, actor: &Actor, what: T) -> Result<T, Problem> {
    Ok(state.delivery.shown_to(actor, what).await?)
}

/// What a list of jobs is narrowed to, as the one who asks may ask it.
pub(super) async fn askable(
    state: &AppState,
    actor: &Actor,
    filter: &JobFilter,
) -> Result<JobFilter, Problem> {
    filter.check()?;
    refuse_own(filter, "")?;
    Ok(state.delivery.filter_for(actor, filter, "payload.").await?)
}

/// What Headgate sets in a filter is not the asker's to say.
pub(super) fn refuse_own(filter: &JobFilter, place: &str) -> Result<(), Problem> {
    match filter.masked_names {
        Some(_) => Err(Problem::fault(format!("{place}masked_names"), "is not known here")),
        None => Ok(()),
    }
}

/// What a list of dead letters is narrowed to, as the one who asks may ask it.
pub(super) async fn askable_of_dead_letters(
    state: &AppState,
    actor: &Actor,
    filter: &JobFilter,
) -> Result<JobFilter, Problem> {
    filter.check_of_dead_letters()?;
    askable(state, actor, filter).await
}
