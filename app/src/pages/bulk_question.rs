//! The question before many jobs or dead letters are requeued, cancelled or purged, with their count at this moment.

use crate::calls::bulk::{Bulk, preview};
use crate::calls::error::CallError;
use crate::components::{BulkQuestion, Failure};
use crate::state::page_url::PageUrl;
use crate::ui::FormAction;
use leptos::prelude::*;
use model::operation::{BulkAction, BulkSubject};
use model::views::bulk::BulkPreview;

/// An action, and what it would affect.
pub type Asked = (BulkAction, Result<BulkPreview, CallError>);

/// The question that the query string of a page asks.
pub async fn ask(subject: BulkSubject, query: &str) -> Option<Asked> {
    let action = PageUrl::parse(&format!("/?{query}")).get("confirm")?.parse().ok()?;
    Some((action, preview(subject, action, query.to_owned()).await))
}

#[component]
pub fn Question(
    subject: BulkSubject,
    asked: Asked,
    /// The page with its filters or selected rows.
    url: PageUrl,
    /// The action, which a list can share.
    bulk: FormAction<Bulk>,
) -> impl IntoView {
    let (action, answer) = asked;
    let (query, close) = (url.query(), origin(&url).to_string());
    match answer {
        Err(error) => view! { <Failure error=error /> }.into_any(),
        Ok(preview) => view! {
            <BulkQuestion subject=subject action=action preview=preview bulk=bulk query=query close=close />
        }
        .into_any(),
    }
}

/// The list the question was asked from: the form of selected rows carries its address along.
pub fn origin(url: &PageUrl) -> PageUrl {
    match url.get("back") {
        Some(back) => PageUrl::parse_back(back),
        None => url.clone().settled().without("ids[]").without("ticked"),
    }
}
