//! The page's clock: it starts at the time of the server's numbers and ticks only in the browser.

use crate::format;
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use std::time::Duration;

/// One per page frame, so that a hundred relative times need one timer.
#[derive(Clone, Copy)]
struct Ticker {
    now: RwSignal<Option<DateTime<Utc>>>,
    /// A memo that changes once, so that its readers do not run every second.
    has_begun: Memo<bool>,
}

/// Starts the timer in the browser.
pub fn provide() {
    let now = RwSignal::new(None);
    Effect::new(move |_| {
        let tick = move || {
            now.try_set(Some(Utc::now()));
        };
        tick();
        if let Ok(timer) = set_interval_with_handle(tick, Duration::from_secs(1)) {
            on_cleanup(move || timer.clear());
        }
    });
    provide_context(Ticker { now, has_begun: Memo::new(move |_| now.with(Option::is_some)) });
}

/// A full time for tooltips: in UTC, and once the page is hydrated also in the reader's zone, which only the browser
/// knows.
pub fn full(at: DateTime<Utc>) -> Signal<String> {
    let has_begun = use_context::<Ticker>().map(|ticker| ticker.has_begun);
    Signal::derive(move || {
        if has_begun.is_some_and(|begun| begun.get()) {
            format::full_with_utc(at, *at.with_timezone(&chrono::Local).offset())
        } else {
            format::full(at)
        }
    })
}

/// Now, or `as_of` (the time of the data on the page) while the page is not hydrated.
pub fn now_or(as_of: DateTime<Utc>) -> Signal<DateTime<Utc>> {
    let ticker = use_context::<Ticker>();
    // If the browser's clock is behind the server's, times must not appear to be in the future.
    Signal::derive(move || ticker.and_then(|ticker| ticker.now.get()).map_or(as_of, |now| now.max(as_of)))
}
