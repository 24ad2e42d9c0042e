//! Refreshes a page's data after its first paint: every few seconds while the tab is visible and the page is not
//! frozen.

use super::{freeze, live};
use crate::calls::error::CallError;
use leptos::{prelude::*, task::spawn_local};
use std::{cell::Cell, future::Future, rc::Rc, time::Duration};

/// After this number of failures in a row the pauses no longer grow.
const MAX_DOUBLINGS: u32 = 5;

/// The newest answer; none before the first one. A failed call keeps the last answer, is reported to the live badge, and doubles the
/// pause: twice, four times, up to 32 times the period. Only one call is under way at a time.
pub fn every<T, F>(period: Duration, fetch: impl Fn() -> F + Clone + 'static) -> RwSignal<Option<T>>
where
    T: Send + Sync + 'static,
    F: Future<Output = Result<T, CallError>> + 'static,
{
    let newest = RwSignal::new(None);
    let (is_frozen, live) = (freeze::is_on(), live::current());
    Effect::new(move |_| {
        let fetch = fetch.clone();
        let (is_asking, failures, to_skip) = <(Rc<Cell<bool>>, Rc<Cell<u32>>, Rc<Cell<u32>>)>::default();
        let tick = move || {
            if document().hidden() || is_frozen.get_untracked() || is_asking.get() {
                return;
            }
            if to_skip.get() > 0 {
                to_skip.set(to_skip.get() - 1);
                return;
            }
            is_asking.set(true);
            let answer = fetch();
            let (is_asking, failures, to_skip) = (is_asking.clone(), failures.clone(), to_skip.clone());
            spawn_local(async move {
                match answer.await {
                    // An answer that arrives after a dialog was opened must not change what is decided on.
                    Ok(value) if !is_frozen.try_get_untracked().unwrap_or(true) => {
                        newest.try_set(Some(value));
                        failures.set(0);
                        live.call_succeeded();
                    }
                    Ok(_) => {}
                    Err(error) => {
                        failures.set((failures.get() + 1).min(MAX_DOUBLINGS));
                        to_skip.set((1 << failures.get()) - 1);
                        live.call_failed(error);
                    }
                }
                is_asking.set(false);
            });
        };
        if let Ok(timer) = set_interval_with_handle(tick, period) {
            on_cleanup(move || timer.clear());
        }
    });
    on_cleanup(move || live.call_succeeded());
    newest
}

/// Loads again, independently of [`every`], whenever `is_old` is or becomes true: an event has shown that the loaded data is old.
pub fn when<T, F>(
    newest: RwSignal<Option<T>>,
    is_old: impl Fn() -> bool + 'static,
    fetch: impl Fn() -> F + 'static,
) where
    T: Send + Sync + 'static,
    F: Future<Output = Result<T, CallError>> + 'static,
{
    let is_frozen = freeze::is_on();
    Effect::new(move |_| {
        if !is_old() {
            return;
        }
        let answer = fetch();
        spawn_local(async move {
            if let Ok(value) = answer.await
                && !is_frozen.try_get_untracked().unwrap_or(true)
            {
                newest.try_set(Some(value));
            }
        });
    });
}

/// A row that keeps its position while its numbers change, so that nothing moves under the pointer: its newest values, or the first ones
/// when it is no longer found.
pub fn row<T>(first: T, newest: impl Fn() -> Option<T> + Send + Sync + 'static) -> Memo<T>
where
    T: Clone + PartialEq + Send + Sync + 'static,
{
    Memo::new(move |_| newest().unwrap_or_else(|| first.clone()))
}
