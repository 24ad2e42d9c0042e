//! The place of something that is on its way, at its real height, so that nothing jumps and no zero flashes.

use leptos::prelude::*;

/// A quiet block.
#[component]
pub fn Skeleton(
    /// Height class, such as `h-40`.
    height: &'static str,
) -> impl IntoView {
    view! { <div class=format!("skeleton {height}") role="status" aria-label="Loading"></div> }
}
