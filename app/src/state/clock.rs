//! The page's clock: it starts at the moment the server took its numbers and ticks only in the browser.

use chrono::{DateTime, Utc};
use leptos::prelude::*;
use std::time::Duration;

/// One per page frame, so that a hundred relative times cost one timer.
#[derive(Clone, Copy)]
struct Ticker(RwSignal<Option<DateTime<Utc>>>);

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
    provide_context(Ticker(now));
}

/// Now, or `as_of` (the moment of the data on the page) while the page is not hydrated.
pub fn now_or(as_of: DateTime<Utc>) -> Signal<DateTime<Utc>> {
    let ticker = use_context::<Ticker>();
    // A browser whose clock is behind the server's must not show the future.
    Signal::derive(move || ticker.and_then(|ticker| ticker.0.get()).map_or(as_of, |now| now.max(as_of)))
}
