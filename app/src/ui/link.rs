//! Links inside the console. The router follows them without a reload once the page is hydrated.

use super::data_noscroll;
use crate::state::base_path;
use leptos::prelude::*;

/// A [`Link`], or a block that looks like it where there is nowhere to go.
#[component]
pub fn PerhapsLink(
    /// Path and query; nowhere when empty.
    href: String,
    /// Looks.
    #[prop(into)]
    class: Signal<String>,
    children: Children,
) -> impl IntoView {
    if href.is_empty() {
        view! { <div class=move || class.get()>{children()}</div> }.into_any()
    } else {
        view! {
            <Link href=href class=class>
                {children()}
            </Link>
        }
        .into_any()
    }
}

/// An `<a>` below the mount prefix.
#[component]
pub fn Link(
    /// Path and query, from the console's root.
    #[prop(into)]
    href: Signal<String>,
    /// Looks.
    #[prop(optional, into)]
    class: Signal<String>,
    /// Marks the place where the reader is.
    #[prop(optional, into)]
    is_current: Signal<bool>,
    /// Stays where it has scrolled to, as after a change of filters.
    #[prop(optional)]
    stay: bool,
    /// What a screen reader says instead of the words.
    #[prop(optional, into)]
    says: String,
    children: Children,
) -> impl IntoView {
    let base = base_path::current();
    view! {
        <a
            href=move || href.with(|href| base.join(href))
            class=move || class.get()
            aria-current=move || is_current.get().then_some("page")
            aria-label=(!says.is_empty()).then_some(says)
            {..data_noscroll(stay)}
        >
            {children()}
        </a>
    }
    .into_any()
}
