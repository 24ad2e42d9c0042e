//! Links to newest and older rows: lists are paged by cursor, so there are no page numbers.

use super::{Glyph, Icon, LinkButton};
use leptos::prelude::*;

#[component]
pub fn Pagination(
    /// Address of the first page; `None` on it.
    newest: Option<String>,
    /// Address of the next page; `None` at the end.
    older: Option<String>,
    /// Text of the link to the first page.
    #[prop(default = "Newest")]
    first: &'static str,
    /// Text of the link to the next page.
    #[prop(default = "Older")]
    next: &'static str,
    /// A text about the rows that are shown.
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
