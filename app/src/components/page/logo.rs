//! The logo, and which deployment this is.

use crate::state::instance;
use leptos::prelude::*;

/// A gate in a channel, in a square of 24.
pub const LOGO_PATH: &str = "M4 3v18M20 3v18M4 7h16M9 7v7M15 7v7M4 18c3-3 5-3 8 0s5 3 8 0";

/// The logo, with the name of this deployment.
#[component]
pub fn Brand() -> impl IntoView {
    view! {
        <svg
            width="20"
            height="20"
            viewBox="0 0 24 24"
            fill="none"
            stroke="currentColor"
            stroke-width="2.2"
            stroke-linecap="round"
            aria-hidden="true"
        >
            <path d=LOGO_PATH />
        </svg>
        "Headgate"
        {instance::current().map(|instance| view! { <span class="instance">{instance.name}</span> })}
    }
    .into_any()
}

/// A line in the colour of this deployment along the upper edge of every page.
#[component]
pub fn InstanceBand() -> impl IntoView {
    instance::current()
        .and_then(|instance| instance.colour)
        .map(|colour| {
            view! {
                <svg class="band" viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden="true">
                    <rect width="1" height="1" fill=colour />
                </svg>
            }
        })
        .into_any()
}
