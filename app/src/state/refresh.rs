//! Keeps a page's data moving after its first paint: asks again every few seconds while the tab is visible.

use leptos::{prelude::*, task::spawn_local};
use std::{future::Future, time::Duration};

/// The newest answer, or nothing before the first one. Failed calls are skipped: the page keeps what it has, and the
/// live badge says that the numbers are old.
pub fn every<T, E, F>(period: Duration, fetch: impl Fn() -> F + Clone + 'static) -> RwSignal<Option<T>>
where
    T: Send + Sync + 'static,
    F: Future<Output = Result<T, E>> + 'static,
{
    let newest = RwSignal::new(None);
    Effect::new(move |_| {
        let fetch = fetch.clone();
        let tick = move || {
            if document().hidden() {
                return;
            }
            let answer = fetch();
            spawn_local(async move {
                if let Ok(value) = answer.await {
                    newest.try_set(Some(value));
                }
            });
        };
        if let Ok(timer) = set_interval_with_handle(tick, period) {
            on_cleanup(move || timer.clear());
        }
    });
    newest
}
