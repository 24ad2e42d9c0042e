//! A placeholder for content that is loading, at its real height, so that nothing jumps and no zero flashes.

use leptos::prelude::*;

#[component]
pub fn Skeleton(
    /// Height class, such as `h-40`.
    height: &'static str,
) -> impl IntoView {
    view! { <div class=format!("skeleton {height}") role="status" aria-label="Loading"></div> }
}
