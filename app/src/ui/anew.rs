//! Content that is thrown away when what it shows was loaded again, instead of being patched: what the browser keeps
//! in an element (a tick, above all) must not pass to the row that takes its place.

use leptos::{children::TypedChildrenFn, prelude::*};
use std::hash::Hash;

/// Its children, made anew for each new key.
#[component]
pub fn Anew<K, V>(
    /// Differs after each load.
    key: K,
    children: TypedChildrenFn<V>,
) -> impl IntoView
where
    K: Clone + Eq + Hash + Send + Sync + 'static,
    V: IntoView + 'static,
{
    let children = children.into_inner();
    view! { <For each=move || [key.clone()] key=K::clone children=move |_| children() /> }
}
