//! How much of a limit is used, as a bar and in words.

use crate::format;
use crate::ui::{Meter, Tone};
use leptos::prelude::*;
use model::rate_limit::{RateLimitUse, RateLimits};

/// Bar and `18 of 20/s`.
#[component]
pub fn RateLimitUseMeter(
    /// Use of the tightest limit; `None`: it has no limit.
    #[prop(into)]
    usage: Signal<Option<RateLimitUse>>,
) -> impl IntoView {
    let share = Signal::derive(move || {
        usage.get().map_or(0.0, |limit| f64::from(limit.used) / f64::from(limit.limit.max(1)))
    });
    view! {
        <span class=move || if usage.get().is_some() { "whitespace-nowrap tabular-nums" } else { "text-faint" }>
            {move || usage.get().map(|_| view! { <Meter share=share tone=Tone::Limited /> })}
            {move || usage.get().map_or_else(|| "–".to_owned(), in_words)}
        </span>
    }
    .into_any()
}

pub(in crate::components) fn in_words(limit: RateLimitUse) -> String {
    format!(
        "{} of {}",
        format::count(limit.used.into()),
        format::limit(limit.limit.into(), limit.per_seconds.into())
    )
}

/// `20/s and 1,000/min`, or `none`.
pub fn limits_in_words(limits: Option<&RateLimits>) -> String {
    let words: Vec<_> = limits
        .map(RateLimits::to_vec)
        .unwrap_or_default()
        .into_iter()
        .map(|limit| format::limit(limit.requests.into(), limit.per_seconds.into()))
        .collect();
    if words.is_empty() { "none".to_owned() } else { words.join(" and ") }
}
