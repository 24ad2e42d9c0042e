//! Older and newest: lists are paged by cursor, so there are no page numbers to lie with.

use super::{Glyph, Icon, LinkButton};
use leptos::prelude::*;

/// Links below a list.
#[component]
pub fn Pagination(
    /// Back to the first page; `None` when this is it.
    newest: Option<String>,
    /// The next page; `None` at the end.
    older: Option<String>,
    /// Words of the link to the first page.
    #[prop(default = "Newest")]
    first: &'static str,
    /// Words of the link to the next page.
    #[prop(default = "Older")]
    next: &'static str,
    /// What is shown, in words.
    #[prop(into)]
    shown: String,
) -> impl IntoView {
    view! {
        <nav
            class="flex flex-wrap items-center gap-2 px-4 py-2.5 border-t border-line type-label text-faint"
            aria-label="Pages"
        >
            <span class="mr-auto tabular-nums">{shown}</span>
            {newest.map(|href| view! { <LinkButton href=href glyph=Glyph::ChevronLeft>{first}</LinkButton> })}
            {older.map(|href| view! { <LinkButton href=href>{next} <Icon glyph=Glyph::ChevronRight /></LinkButton> })}
        </nav>
    }
    .into_any()
}
