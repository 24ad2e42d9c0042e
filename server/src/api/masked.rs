//! Masking: what an actor may see, and what filters they may use.

use super::problem::Problem;
use crate::state::AppState;
use model::{actor::Actor, filter::JobFilter, rules::masking::Sensitive};

/// `what`, without what the actor may not see.
pub(super) async fn shown<T: Sensitive>(state: &AppState, actor: &Actor, what: T) -> Result<T, Problem> {
    Ok(state.delivery.shown_to(actor, what).await?)
}

/// The filter of a list of jobs, restricted to what the actor may filter by.
pub(super) async fn permitted_filter(
    state: &AppState,
    actor: &Actor,
    filter: &JobFilter,
) -> Result<JobFilter, Problem> {
    filter.check()?;
    refuse_internal_fields(filter, "")?;
    Ok(state.delivery.filter_for(actor, filter, "payload.").await?)
}

/// Refuses the field of a filter that only Headgate sets.
pub(super) fn refuse_internal_fields(filter: &JobFilter, place: &str) -> Result<(), Problem> {
    match filter.masked_names {
        Some(_) => Err(Problem::fault(format!("{place}masked_names"), "is not known here")),
        None => Ok(()),
    }
}

/// The same for a list of dead letters.
pub(super) async fn permitted_dead_letter_filter(
    state: &AppState,
    actor: &Actor,
    filter: &JobFilter,
) -> Result<JobFilter, Problem> {
    filter.check_of_dead_letters()?;
    permitted_filter(state, actor, filter).await
}
