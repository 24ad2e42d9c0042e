//! Moments: relative for the eye, absolute on hover (in the reader's zone, UTC beside) and for machines.
//!
//! The first render takes `now` from the data it came with and never reads a clock, so that the server's text and
//! the browser's are the same.

use crate::{format, state::clock};
use chrono::{DateTime, Utc};
use leptos::prelude::*;

/// `4 m ago` or `in 38 s`, with the exact time behind it.
#[component]
pub fn Ago(
    /// The moment.
    at: DateTime<Utc>,
    /// Against what it is told.
    #[prop(into)]
    now: Signal<DateTime<Utc>>,
) -> impl IntoView {
    view! {
        <time class="tabular-nums" datetime=format::rfc3339(at) title=clock::full(at)>
            {move || format::relative(at, now.get())}
        </time>
    }
}

/// When something was done last, as [`Ago`]; `never` when it was not.
#[component]
pub fn LastTime(
    /// The moment, if there was one.
    at: Option<DateTime<Utc>>,
    /// Against what it is told.
    #[prop(into)]
    now: Signal<DateTime<Utc>>,
) -> impl IntoView {
    at.map_or_else(|| "never".into_any(), |at| view! { <Ago at=at now=now /> }.into_any())
}

/// `14:46:02`, with its day when that is not today.
#[component]
pub fn Instant(
    /// The moment.
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
