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
        ("Nothing found yet", "No index covers these filters. Search on with the link below, or add filters.")
    } else {
        (
            "No jobs match these filters",
            "Only finished jobs of the last 24 hours are listed, unless “Accepted since” is set.",
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
                "{which} {need} another filter, or the search would scan millions of jobs. Add an integration, a record with its \
                 type, a correlation id, a batch, the state Processing, To be retried or Retrying, or younger than 1h. For failed jobs an app is enough.",
            )
        />
    }
    .into_any()
}
