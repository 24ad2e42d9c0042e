//! The question before dead letters are requeued or purged, with their count at this moment.

use crate::{
    calls::{bulk::Bulk, error::CallError},
    components::{BulkQuestion, Failure},
    pages::origin,
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
) -> impl IntoView {
    let bulk = ServerAction::<Bulk>::new();
    let (subject, query, close) = (BulkSubject::DeadLetters, url.query(), origin(&url).to_string());
    match answer {
        Err(error) => view! { <Failure error=error /> }.into_any(),
        Ok(preview) => view! {
            <BulkQuestion subject=subject action=action preview=preview bulk=bulk query=query close=close />
        }
        .into_any(),
    }
}
