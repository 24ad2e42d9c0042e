//! Keeps a page's data moving after its first paint: asks again every few seconds while the tab is visible and nothing
//! makes the page stand still.

use super::{hold, live};
use crate::calls::error::CallError;
use leptos::{prelude::*, task::spawn_local};
use std::{cell::Cell, future::Future, rc::Rc, time::Duration};

/// After that many failures in a row the pauses grow no longer.
const LONGEST_PAUSE: u32 = 5;

/// The newest answer, or nothing before the first one. A call that fails leaves what is there, tells the live badge, and
/// the next one waits for longer: twice, four times, up to 32 times the period. A slow one is never asked twice at once.
pub fn every<T, F>(period: Duration, fetch: impl Fn() -> F + Clone + 'static) -> RwSignal<Option<T>>
where
    T: Send + Sync + 'static,
    F: Future<Output = Result<T, CallError>> + 'static,
{
    let newest = RwSignal::new(None);
    let (is_held, live) = (hold::is_on(), live::current());
    Effect::new(move |_| {
        let fetch = fetch.clone();
        let (is_asking, failures, to_skip) = <(Rc<Cell<bool>>, Rc<Cell<u32>>, Rc<Cell<u32>>)>::default();
        let tick = move || {
            if document().hidden() || is_held.get_untracked() || is_asking.get() {
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
                    // What was asked before a question came up must not change what is decided on.
                    Ok(value) if !is_held.try_get_untracked().unwrap_or(true) => {
                        newest.try_set(Some(value));
                        failures.set(0);
                        live.answered();
                    }
                    Ok(_) => {}
                    Err(error) => {
                        failures.set((failures.get() + 1).min(LONGEST_PAUSE));
                        to_skip.set((1 << failures.get()) - 1);
                        live.unanswered(error);
                    }
                }
                is_asking.set(false);
            });
        };
        if let Ok(timer) = set_interval_with_handle(tick, period) {
            on_cleanup(move || timer.clear());
        }
    });
    on_cleanup(move || live.answered());
    newest
}

/// Asks once more, beside the pauses of [`every`], each time that something becomes so or is so anew: what is told at once has made what was
/// loaded old.
pub fn when<T, F>(
    newest: RwSignal<Option<T>>,
    is_old: impl Fn() -> bool + 'static,
    fetch: impl Fn() -> F + 'static,
) where
    T: Send + Sync + 'static,
    F: Future<Output = Result<T, CallError>> + 'static,
{
    let is_held = hold::is_on();
    Effect::new(move |_| {
        if !is_old() {
            return;
        }
        let answer = fetch();
        spawn_local(async move {
            if let Ok(value) = answer.await
                && !is_held.try_get_untracked().unwrap_or(true)
            {
                newest.try_set(Some(value));
            }
        });
    });
}

/// A row that stays while its numbers change, so that nothing moves under the pointer: the newest that is found, or what it was at first.
pub fn row<T>(first: T, newest: impl Fn() -> Option<T> + Send + Sync + 'static) -> Memo<T>
where
    T: Clone + PartialEq + Send + Sync + 'static,
{
    Memo::new(move |_| newest().unwrap_or_else(|| first.clone()))
}
