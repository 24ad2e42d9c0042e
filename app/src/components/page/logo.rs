//! The logo.

use leptos::prelude::*;

/// A gate in a channel.
#[component]
pub fn Logo() -> impl IntoView {
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
            <path d="M4 3v18M20 3v18M4 7h16M9 7v7M15 7v7M4 18c3-3 5-3 8 0s5 3 8 0" />
        </svg>
    }
    .into_any()
}
