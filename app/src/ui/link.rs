//! Links inside the console. The router follows them without a reload once the page is hydrated.

use super::data_noscroll;
use crate::state::base_path;
use leptos::prelude::*;

/// A [`Link`], or a block with the same style when there is no address.
#[component]
pub fn OptionalLink(
    /// Path and query; empty for none. It may change, but not from or to none.
    #[prop(into)]
    href: Signal<String>,
    #[prop(into)] class: Signal<String>,
    children: Children,
) -> impl IntoView {
    if href.with_untracked(String::is_empty) {
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
    #[prop(optional, into)] class: Signal<String>,
    /// The current page (`aria-current`).
    #[prop(optional, into)]
    is_current: Signal<bool>,
    /// Keeps the scroll position, as after a change of filters.
    #[prop(optional)]
    keep_scroll: bool,
    /// Label for screen readers.
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
            {..data_noscroll(keep_scroll)}
        >
            {children()}
        </a>
    }
    .into_any()
}
