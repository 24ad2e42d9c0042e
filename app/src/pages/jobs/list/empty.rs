//! Why there are no jobs to show.

use crate::components::EmptyList;
use crate::ui::{EmptyState, Glyph, Tone};
use leptos::prelude::*;

#[component]
pub fn NoJobs(
    /// Where the filters are cleared; `None`: the list is not filtered.
    clear: Option<String>,
    /// There are jobs that were not searched yet.
    has_more: bool,
) -> impl IntoView {
    let no_match = if has_more {
        ("None found so far", "No index serves these filters: search on with the link below, or add filters.")
    } else {
        (
            "No job matches these filters",
            "Finished jobs are listed for 24 hours, unless “Accepted since” is set.",
        )
    };
    view! {
        <EmptyList
            clear=clear
            no_match=no_match
            glyph=Glyph::List
            nothing=("No jobs yet", "A record change sent to POST /api/v1/events creates one for every interested integration.")
        />
    }
}

/// Why there was no search, and what makes it quick.
#[component]
pub fn Refused(
    /// Filters that need another one.
    names: Vec<String>,
) -> impl IntoView {
    let which = names.join(", ");
    let need = if names.len() == 1 { "needs" } else { "need" };
    view! {
        <EmptyState
            glyph=Glyph::Search
            tone=Tone::Retrying
            title="Add another filter"
            text=format!(
                "{which} {need} another filter, so that no search runs through millions of jobs: an integration, a record with its \
                 type, a correlation id, a batch, the state Processing, To be retried or Retrying, or younger than 1h. Of failed jobs an app is enough.",
            )
        />
    }
    .into_any()
}
