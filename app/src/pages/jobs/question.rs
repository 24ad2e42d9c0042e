//! The question before many jobs are requeued or cancelled: it names the count, counted at this moment.

use crate::{
    calls::{error::CallError, jobs::Bulk},
    components::{Confirm, Failure},
    format,
    state::page_url::PageUrl,
    ui::HiddenFields,
};
use leptos::prelude::*;
use model::operation::{BulkAction, DryRun};

/// What to do with all that match, or with those that were ticked.
#[component]
pub fn Question(
    /// Requeue or cancel.
    action: BulkAction,
    /// What it would touch.
    answer: Result<DryRun, CallError>,
    /// The page with its filters or ticked rows.
    url: PageUrl,
    /// The action, shared with the list.
    bulk: ServerAction<Bulk>,
) -> impl IntoView {
    let close = origin(&url).to_string();
    match answer {
        Err(error) => view! { <Failure error=error /> }.into_any(),
        Ok(run) => {
            let jobs = format::counted(run.matched, "job", "jobs");
            let (title, text, deed) = match action {
                BulkAction::Cancel | BulkAction::Purge => (
                    format!("Cancel {jobs}?"),
                    "Cancelled jobs are not sent and cannot be requeued. What changed stays in the record and goes out with its next change.",
                    format!("Cancel {jobs}"),
                ),
                BulkAction::Requeue => (
                    format!("Requeue {jobs}?"),
                    "Each gets all its attempts anew and goes out as its integration's limits allow.",
                    format!("Requeue {jobs}"),
                ),
            };
            let hidden = HiddenFields::default()
                .with("subject", "jobs")
                .with("action", action.as_str())
                .with("query", url.query())
                .with("matched", run.matched.to_string())
                .with("back", close.clone());
            view! { <Confirm action=bulk hidden=hidden title=title text=text deed=deed close=close /> }
                .into_any()
        }
    }
}

/// The list the question was asked from: ticked rows arrive by a form that carries it along.
pub(in crate::pages) fn origin(url: &PageUrl) -> PageUrl {
    match url.get("back") {
        Some(back) => PageUrl::parse_back(back),
        None => url.clone().settled().without("ids[]"),
    }
}
