//! Refreshes a page's data after its first paint: every few seconds, or only while something moves, while the tab is visible and the
//! page is not frozen. Rows change in place, and those that came are counted.

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
    poll(period, || true, fetch)
}

/// As [`every`], but only when a value of the live stream has changed since the last call: while nothing moves, nothing is asked.
pub fn while_changing<V, T, F>(
    period: Duration,
    value: Memo<V>,
    fetch: impl Fn() -> F + Clone + 'static,
) -> RwSignal<Option<T>>
where
    V: Clone + PartialEq + Send + Sync + 'static,
    T: Send + Sync + 'static,
    F: Future<Output = Result<T, CallError>> + 'static,
{
    let seen = StoredValue::new(value.get_untracked());
    let has_changed = move || {
        let now = value.get_untracked();
        let has_changed = seen.with_value(|seen| *seen != now);
        if has_changed {
            seen.set_value(now);
        }
        has_changed
    };
    poll(period, has_changed, fetch)
}

fn poll<T, F>(
    period: Duration,
    is_due: impl Fn() -> bool + Clone + 'static,
    fetch: impl Fn() -> F + Clone + 'static,
) -> RwSignal<Option<T>>
where
    T: Send + Sync + 'static,
    F: Future<Output = Result<T, CallError>> + 'static,
{
    let newest = RwSignal::new(None);
    let (is_frozen, live) = (freeze::is_on(), live::current());
    Effect::new(move |_| {
        let (is_due, fetch) = (is_due.clone(), fetch.clone());
        let (is_asking, failures, to_skip) = <(Rc<Cell<bool>>, Rc<Cell<u32>>, Rc<Cell<u32>>)>::default();
        // The last call brought nothing: it is repeated even if nothing has changed since.
        let is_owed: Rc<Cell<bool>> = Rc::default();
        let tick = move || {
            if document().hidden() || is_frozen.get_untracked() || is_asking.get() {
                return;
            }
            if to_skip.get() > 0 {
                to_skip.set(to_skip.get() - 1);
                return;
            }
            // `is_due` first: it remembers what it has seen.
            if !is_due() && !is_owed.get() {
                return;
            }
            is_asking.set(true);
            is_owed.set(true);
            let answer = fetch();
            let (is_asking, failures, to_skip) = (is_asking.clone(), failures.clone(), to_skip.clone());
            let is_owed = is_owed.clone();
            spawn_local(async move {
                match answer.await {
                    // An answer that arrives after a dialog was opened must not change what is decided on.
                    Ok(value) if !is_frozen.try_get_untracked().unwrap_or(true) => {
                        newest.try_set(Some(value));
                        is_owed.set(false);
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

/// A row that keeps its position while its numbers change, so that nothing moves under the pointer: its newest values, or the last ones
/// when it is no longer found.
pub fn row<T>(first: T, newest: impl Fn() -> Option<T> + Send + Sync + 'static) -> Memo<T>
where
    T: Clone + PartialEq + Send + Sync + 'static,
{
    Memo::new(move |last: Option<&T>| newest().unwrap_or_else(|| last.unwrap_or(&first).clone()))
}

/// How many rows have come since the list was loaded, with the newest first: those beyond the first row on screen. Ids sort by time.
pub fn came<L, K>(
    newer: RwSignal<Option<L>>,
    first: Option<K>,
    ids: impl Fn(&L) -> Vec<K> + Send + Sync + 'static,
) -> Memo<usize>
where
    L: Send + Sync + 'static,
    K: Ord + Send + Sync + 'static,
{
    Memo::new(move |_| {
        newer.with(|list| {
            let ids = list.as_ref().map(&ids).unwrap_or_default();
            ids.iter().filter(|id| Some(*id) > first.as_ref()).count()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_is_no_longer_found_keeps_its_last_values() {
        Owner::new().with(|| {
            let newer = RwSignal::new(None::<i64>);
            let row = row(1, move || newer.get());
            assert_eq!(row.get_untracked(), 1);
            newer.set(Some(3));
            assert_eq!(row.get_untracked(), 3);
            newer.set(None);
            assert_eq!(row.get_untracked(), 3);
        });
    }

    #[test]
    fn rows_beyond_the_first_one_have_come() {
        Owner::new().with(|| {
            let newer = RwSignal::new(None::<Vec<i64>>);
            let (of_some, of_none) = (came(newer, Some(7), Vec::clone), came(newer, None, Vec::clone));
            assert_eq!((of_some.get_untracked(), of_none.get_untracked()), (0, 0));
            newer.set(Some(vec![9, 8, 7, 5]));
            assert_eq!((of_some.get_untracked(), of_none.get_untracked()), (2, 4));
            newer.set(Some(vec![5]));
            assert_eq!(of_some.get_untracked(), 0, "the row is gone, and none came");
        });
    }
}
