//! Whether the numbers are fresh: live with their age, old and since when, resting, or plain.

use crate::{
    format,
    state::{
        clock,
        live::{self, Link},
    },
    ui::Tone,
};
use chrono::{DateTime, Utc};
use leptos::prelude::*;

/// A dot and two words.
#[component]
pub fn LiveBadge(
    /// The moment of the page's first numbers.
    as_of: DateTime<Utc>,
) -> impl IntoView {
    let live = live::current();
    let now = clock::now_or(as_of);
    let state = Memo::new(move |_| {
        let at = now.get();
        match (live.link().get(), live.age(at)) {
            (Link::Resting, _) => (Tone::Paused, "Resting".to_owned()),
            (_, Some((age, true))) => (Tone::Failed, format!("Stale · {}", format::age(age))),
            (Link::Broken, _) => (Tone::Retrying, "Reconnecting".to_owned()),
            (Link::Open, Some((age, false))) if age.num_seconds() >= 2 => {
                (Tone::Delivered, format!("Live · {}", format::age(age)))
            }
            (Link::Open, _) => (Tone::Delivered, "Live".to_owned()),
            (Link::Starting, _) => (Tone::Paused, format!("As of {}", format::clock(as_of, as_of))),
        }
    });
    view! {
        <span
            class=move || format!("flex items-center gap-2 pl-1 type-label font-medium text-muted tabular-nums {}", state.get().0.class())
            title="Numbers arrive once a second while this tab is visible"
        >
            <span class="dot"></span>
            {move || state.get().1}
        </span>
    }
    .into_any()
}
