//! The question before dead letters are requeued or purged: it names the count, counted at this moment.

use crate::{
    calls::{error::CallError, jobs::Bulk},
    components::{Confirm, Failure},
    format,
    pages::origin,
    state::page_url::PageUrl,
    ui::HiddenFields,
};
use leptos::prelude::*;
use model::operation::{BulkAction, DryRun};

/// The dialog.
#[component]
pub fn Question(
    /// Requeue or purge.
    action: BulkAction,
    /// What it would touch.
    answer: Result<DryRun, CallError>,
    /// The page with its filters or ticked rows.
    url: PageUrl,
) -> impl IntoView {
    let bulk = ServerAction::<Bulk>::new();
    let run = match answer {
        Ok(run) => run,
        Err(error) => return view! { <Failure error=error /> }.into_any(),
    };
    let letters = format::counted(run.matched, "dead letter", "dead letters");
    let (title, text, deed) = match action {
        BulkAction::Purge | BulkAction::Cancel => (
            format!("Purge {letters}?"),
            "Their jobs, payloads and failure histories are deleted. This cannot be undone.".to_owned(),
            format!("Purge {letters}"),
        ),
        BulkAction::Requeue => {
            let eta = run
                .eta_seconds
                .map(|eta| format!(" That takes about {}.", format::eta(eta)))
                .unwrap_or_default();
            (
                format!("Requeue {letters}?"),
                format!(
                    "Each gets all its attempts anew and goes out as its integration's limits allow.{eta}"
                ),
                format!("Requeue {letters}"),
            )
        }
    };
    let close = origin(&url).to_string();
    let hidden = HiddenFields::default()
        .with("subject", "dead_letters")
        .with("action", action.as_str())
        .with("query", url.query())
        .with("matched", run.matched.to_string())
        .with("back", close.clone());
    view! { <Confirm action=bulk hidden=hidden title=title text=text deed=deed close=close /> }.into_any()
}
