//! Times: relative in the text, absolute in the tooltip (in the reader's zone and UTC) and in `datetime`.
//!
//! The first render takes `now` from the page's data and never reads a clock, so that the server's text and the
//! browser's are the same.

use crate::{format, state::clock};
use chrono::{DateTime, Utc};
use leptos::prelude::*;

/// `4 m ago` or `in 38 s`.
#[component]
pub fn Ago(at: DateTime<Utc>, #[prop(into)] now: Signal<DateTime<Utc>>) -> impl IntoView {
    view! {
        <time class="tabular-nums" datetime=format::rfc3339(at) title=clock::full(at)>
            {move || format::relative(at, now.get())}
        </time>
    }
}

/// As [`Ago`]; `never` without a time.
#[component]
pub fn LastTime(at: Option<DateTime<Utc>>, #[prop(into)] now: Signal<DateTime<Utc>>) -> impl IntoView {
    at.map_or_else(|| "never".into_any(), |at| view! { <Ago at=at now=now /> }.into_any())
}

/// `14:46:02`, with the day when it is not today.
#[component]
pub fn Instant(
    at: DateTime<Utc>,
    /// Decides what today is.
    now: DateTime<Utc>,
) -> impl IntoView {
    view! {
        <time class="tabular-nums" datetime=format::rfc3339(at) title=clock::full(at)>
            {format::clock(at, now)}
        </time>
    }
}
