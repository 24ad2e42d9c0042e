//! Counts the changes made from this tab, so that the page loads its data again. The address alone is not enough: the same button
//! pressed twice leads to the same address.

use leptos::prelude::*;

#[derive(Clone, Copy)]
pub struct Revision(RwSignal<u32>);

impl Revision {
    /// Read it where data is loaded.
    pub fn get(self) -> u32 {
        self.0.get()
    }

    /// Makes the page load its data again.
    pub fn next(self) {
        self.0.try_update(|n| *n = n.wrapping_add(1));
    }
}

/// For all pages of a tab.
pub fn provide() {
    provide_context(Revision(RwSignal::new(0)));
}

pub fn current() -> Revision {
    use_context().unwrap_or_else(|| Revision(RwSignal::new(0)))
}
