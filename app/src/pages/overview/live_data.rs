//! The numbers of the overview, as they update by themselves.

use crate::calls::stats::load_charts;
use crate::state::{live, refresh};
use leptos::prelude::*;
use model::stats::{Snapshot, Window};
use model::views::overview::{Charts, LeftOut};
use std::time::Duration;

/// What updates by itself, on pages about the present.
#[derive(Clone, Copy)]
pub struct LiveData {
    pub snapshot: Signal<Snapshot>,
    /// Only the first snapshot leaves something out; streamed ones are complete.
    pub left_out: Signal<LeftOut>,
    charts: Memo<Charts>,
}

impl LiveData {
    /// On a page about the past nothing updates.
    pub fn new(
        (snapshot, left_out): (Snapshot, LeftOut),
        charts: Charts,
        window: Window,
        is_past: bool,
    ) -> Self {
        if is_past {
            return Self {
                snapshot: Signal::stored(snapshot),
                left_out: Signal::stored(left_out),
                charts: Memo::new(move |_| charts.clone()),
            };
        }
        let (first_at, live) = (snapshot.at, live::current());
        let newer = refresh::every(Duration::from_secs(10), move || load_charts(window));
        Self {
            left_out: Memo::new(
                move |_| if live.is_current_since(first_at) { LeftOut::default() } else { left_out },
            )
            .into(),
            snapshot: live.or(snapshot),
            charts: Memo::new(move |_| newer.get().unwrap_or_else(|| charts.clone())),
        }
    }

    pub fn of<T: Clone + PartialEq + Send + Sync + 'static>(self, read: fn(&Charts) -> T) -> Signal<T> {
        let charts = self.charts;
        Memo::new(move |_| charts.with(read)).into()
    }
}
