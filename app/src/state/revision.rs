//! Counts what was changed from this tab, so that the page asks again for what it shows. The address alone does not
//! tell: the same button pressed twice leads to the same address.

use leptos::prelude::*;

/// The count.
#[derive(Clone, Copy)]
pub struct Revision(RwSignal<u32>);

impl Revision {
    /// Read it where data is asked for.
    pub fn get(self) -> u32 {
        self.0.get()
    }

    /// Something was changed, or is wanted anew.
    pub fn next(self) {
        self.0.try_update(|n| *n = n.wrapping_add(1));
    }
}

/// One for all pages of a tab.
pub fn provide() {
    provide_context(Revision(RwSignal::new(0)));
}

/// That of the pages around.
pub fn current() -> Revision {
    use_context().unwrap_or_else(|| Revision(RwSignal::new(0)))
}
