//! A list of the console: filters above, then its rows or why there are none, actions on selected rows, and links to other pages of it.

use super::{Card, PageLinks, Pagination};
use leptos::prelude::*;

/// The children are the table. With an empty list neither they nor `actions` are made.
#[component]
pub fn ListCard(
    /// Heading, also the section's name for assistive technology.
    #[prop(into)]
    title: String,
    /// A remark, such as the order.
    #[prop(optional, into)]
    sub: Signal<String>,
    /// Content at the right of the heading.
    #[prop(optional, into)]
    aside: ViewFn,
    /// Filters, and what is said about them.
    #[prop(optional, into)]
    toolbar: ViewFnOnce,
    is_empty: bool,
    /// What an empty list shows.
    #[prop(into)]
    empty: ViewFnOnce,
    /// What can be done with selected rows.
    #[prop(optional, into)]
    actions: ViewFnOnce,
    pages: PageLinks,
    children: Children,
) -> impl IntoView {
    let has_pages = pages.are_needed(is_empty);
    view! {
        <Card title=title sub=sub aside=aside>
            {toolbar.run()}
            {if is_empty { empty.run() } else { children() }}
            {(!is_empty).then(|| actions.run())}
            {has_pages.then(|| view! { <Pagination pages=pages /> })}
        </Card>
    }
    .into_any()
}
