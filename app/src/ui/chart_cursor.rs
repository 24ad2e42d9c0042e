//! The position of the pointer, shared by every chart of a page: a time, so that charts of different steps agree.

use chrono::{DateTime, Utc};
use leptos::prelude::*;

/// One for all charts of a page; none while nothing is pointed at.
#[derive(Clone, Copy)]
pub struct ChartCursor(RwSignal<Option<DateTime<Utc>>>);

impl ChartCursor {
    /// Provides the cursor to the charts of a page; call it once in the page's component.
    pub fn provide() {
        provide_context(Self(RwSignal::new(None)));
    }

    /// The page's cursor; a chart without one has its own.
    pub fn current() -> Self {
        use_context().unwrap_or_else(|| Self(RwSignal::new(None)))
    }

    pub fn get(self) -> Option<DateTime<Utc>> {
        self.0.get()
    }

    pub fn set(self, at: Option<DateTime<Utc>>) {
        self.0.set(at);
    }
}
