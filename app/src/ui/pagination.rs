//! Links to other pages of a list.

use super::{Glyph, Icon, LinkButton};
use crate::state::page_url::PageUrl;
use leptos::prelude::*;

/// Where the other pages of a list are, and how much of it this one shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageLinks {
    /// Address of the first page, or of the one before; `None` on the first.
    back: Option<String>,
    /// Address of the next page; `None` at the end.
    next: Option<String>,
    back_text: &'static str,
    next_text: &'static str,
    has_arrow: bool,
    /// A text about the rows that are shown.
    shown: String,
    is_always_shown: bool,
}

impl PageLinks {
    /// Of a list that is paged by cursor, so that there are no page numbers: the first page, and the one with older rows.
    pub fn by_cursor(here: &PageUrl, next_cursor: Option<&str>, shown: String) -> Self {
        Self {
            back: here.get("cursor").map(|_| here.clone().without("cursor").to_string()),
            next: next_cursor.map(|cursor| here.clone().with("cursor", cursor).to_string()),
            back_text: "Newest",
            next_text: "Older",
            has_arrow: true,
            shown,
            is_always_shown: false,
        }
    }

    /// Of a list with page numbers, beginning at 1.
    pub fn numbered(here: &PageUrl, page: usize, has_more: bool, shown: String) -> Self {
        let at = |page: usize| here.clone().with("page", page).to_string();
        Self {
            back: (page > 1).then(|| at(page - 1)),
            next: has_more.then(|| at(page + 1)),
            back_text: "Previous",
            next_text: "More",
            has_arrow: false,
            shown,
            is_always_shown: false,
        }
    }

    /// With other texts on the links.
    #[must_use]
    pub fn called(self, back_text: &'static str, next_text: &'static str) -> Self {
        Self { back_text, next_text, ..self }
    }

    /// Says how many rows are shown even when there are none.
    #[must_use]
    pub fn always_shown(self) -> Self {
        Self { is_always_shown: true, ..self }
    }

    /// An empty page of a list that goes on has links: filters that no index serves may have found none so far.
    pub(super) const fn are_needed(&self, is_empty: bool) -> bool {
        !is_empty || self.is_always_shown || self.back.is_some() || self.next.is_some()
    }
}

#[component]
pub fn Pagination(pages: PageLinks) -> impl IntoView {
    let PageLinks { back, next, back_text, next_text, has_arrow, shown, .. } = pages;
    let arrow = has_arrow.then(|| view! { <Icon glyph=Glyph::ChevronRight /> });
    view! {
        <nav
            class="flex flex-wrap items-center gap-2 px-4 py-2.5 border-t border-line type-label text-faint"
            aria-label="Pages"
        >
            <span class="mr-auto tabular-nums">{shown}</span>
            {back.map(|href| view! { <LinkButton href=href glyph=Glyph::ChevronLeft>{back_text}</LinkButton> })}
            {next.map(|href| view! { <LinkButton href=href>{next_text} {arrow}</LinkButton> })}
        </nav>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_by_cursor_leads_to_its_first_page_and_to_the_next() {
        let first = PageLinks::by_cursor(&PageUrl::parse("/jobs?q=1"), Some("c2"), String::new());
        assert_eq!((first.back, first.next.as_deref()), (None, Some("/jobs?q=1&cursor=c2")));
        let last = PageLinks::by_cursor(&PageUrl::parse("/jobs?q=1&cursor=c2"), None, String::new());
        assert_eq!((last.back.as_deref(), last.next), (Some("/jobs?q=1"), None));
    }

    #[test]
    fn an_empty_list_has_links_only_where_it_has_other_pages() {
        let at = |url, next| PageLinks::by_cursor(&PageUrl::parse(url), next, String::new());
        assert!(!at("/jobs", None).are_needed(true));
        assert!(at("/jobs", None).always_shown().are_needed(true));
        assert!(at("/jobs", Some("c")).are_needed(true), "none found so far");
        assert!(at("/jobs?cursor=c", None).are_needed(true));
        assert!(at("/jobs", None).are_needed(false));
    }
}
