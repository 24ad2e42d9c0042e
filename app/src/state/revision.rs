//! Counts the changes made from this tab, so that the page loads its data again. The address alone is not enough: the same button
//! pressed twice leads to the same address.

use crate::calls::error::CallError;
use leptos::prelude::*;
use serde::{Serialize, de::DeserializeOwned};
use std::future::Future;

#[derive(Clone, Copy)]
pub struct Revision(RwSignal<u32>);

impl Revision {
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

/// The data of a page: loaded again when what the page asks for changes, and after each change made from this tab.
pub fn page_data<A, T, F>(
    asked: impl Fn() -> A + Send + Sync + 'static,
    load: impl Fn(A) -> F + Send + Sync + 'static,
) -> Resource<Result<T, CallError>>
where
    A: Clone + PartialEq + Send + Sync + 'static,
    T: Serialize + DeserializeOwned + Send + Sync + 'static,
    F: Future<Output = Result<T, CallError>> + Send + 'static,
{
    let revision = current();
    Resource::new_blocking(move || (asked(), revision.0.get()), move |(asked, _)| load(asked))
}
