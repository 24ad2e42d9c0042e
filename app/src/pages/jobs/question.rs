//! The question before many jobs are requeued or cancelled: it names the count, counted at this moment.

use crate::{
    calls::{
        error::CallError,
        jobs::{Bulk, BulkPreview},
    },
    components::{BulkQuestion, Failure},
    state::page_url::PageUrl,
};
use leptos::prelude::*;
use model::operation::{BulkAction, BulkSubject};

/// What to do with all that match, or with those that were ticked.
#[component]
pub fn Question(
    /// Requeue or cancel.
    action: BulkAction,
    /// What it would touch.
    answer: Result<BulkPreview, CallError>,
    /// The page with its filters or ticked rows.
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

/// The list the question was asked from: ticked rows arrive by a form that carries it along.
pub(in crate::pages) fn origin(url: &PageUrl) -> PageUrl {
    match url.get("back") {
        Some(back) => PageUrl::parse_back(back),
        None => url.clone().settled().without("ids[]").without("ticked"),
    }
}
