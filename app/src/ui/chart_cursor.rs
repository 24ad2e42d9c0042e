//! Where the reader points, told to every chart of a page: a moment, so that charts of different steps agree.

use chrono::{DateTime, Utc};
use leptos::prelude::*;

/// One for all charts of a page; none while nobody points.
#[derive(Clone, Copy)]
pub struct ChartCursor(RwSignal<Option<DateTime<Utc>>>);

impl ChartCursor {
    /// For the charts of the page around: call it once where the page begins.
    pub fn provide() {
        provide_context(Self(RwSignal::new(None)));
    }

    /// That of the page around; a chart alone has its own.
    pub fn current() -> Self {
        use_context().unwrap_or_else(|| Self(RwSignal::new(None)))
    }

    /// What is pointed at.
    pub fn get(self) -> Option<DateTime<Utc>> {
        self.0.get()
    }

    /// Points at a moment, or at nothing.
    pub fn set(self, at: Option<DateTime<Utc>>) {
        self.0.set(at);
    }
}
