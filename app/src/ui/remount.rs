//! Content that is replaced instead of patched when its data is loaded again: state that the browser keeps in an element (above all
//! of a checkbox) must not pass to the row that takes its place.

use leptos::{children::TypedChildrenFn, prelude::*};
use std::hash::Hash;

/// Its children, mounted again for each new key.
#[component]
pub fn Remount<K, V>(
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
