//! The question before many jobs are requeued or cancelled, with their count at this moment.

use crate::{
    calls::{bulk::Bulk, error::CallError},
    components::{BulkQuestion, Failure},
    state::page_url::PageUrl,
};
use leptos::prelude::*;
use model::operation::{BulkAction, BulkSubject};
use model::views::bulk::BulkPreview;

#[component]
pub fn Question(
    action: BulkAction,
    /// What it would affect.
    answer: Result<BulkPreview, CallError>,
    /// The page with its filters or selected rows.
    url: PageUrl,
    /// The action, shared with the list.
    bulk: ServerAction<Bulk>,
) -> impl IntoView {
    let (subject, query, close) = (BulkSubject::Jobs, url.query(), origin(&url).to_string());
    match answer {
        Err(error) => view! { <Failure error=error /> }.into_any(),
        Ok(preview) => view! {
            <BulkQuestion subject=subject action=action preview=preview bulk=bulk query=query close=close />
        }
        .into_any(),
    }
}

/// The list the question was asked from: the form of selected rows carries its address along.
pub(in crate::pages) fn origin(url: &PageUrl) -> PageUrl {
    match url.get("back") {
        Some(back) => PageUrl::parse_back(back),
        None => url.clone().settled().without("ids[]").without("ticked"),
    }
}
