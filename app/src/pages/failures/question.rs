//! The question before a group is retried.

use crate::calls::bulk::Bulk;
use crate::calls::error::CallError;
use crate::components::{Confirm, Failure};
use crate::format;
use crate::state::page_url::PageUrl;
use crate::ui::{HiddenFields, form_action};
use leptos::prelude::*;
use model::{failure::CauseId, views::bulk::BulkPreview};

/// The filter of a retry of the group in the address: its jobs, of the same app and integration.
pub fn retried(url: &PageUrl) -> Option<String> {
    let group: CauseId = url.get("group")?.parse().ok()?;
    url.get("confirm").filter(|word| *word == "requeue")?;
    let jobs = PageUrl::parse("/jobs").with("fingerprint", group);
    let jobs = ["app_id", "integration_id"].into_iter().fold(jobs, |jobs, name| match url.get(name) {
        Some(value) if !value.is_empty() => jobs.with(name, value),
        _ => jobs,
    });
    Some(jobs.query())
}

/// With its count at this moment.
#[component]
pub fn Question(answer: Result<BulkPreview, CallError>, url: PageUrl) -> impl IntoView {
    let bulk = form_action::<Bulk>();
    let run = match answer {
        Ok(preview) => preview.run,
        Err(error) => return view! { <Failure error=error /> }.into_any(),
    };
    let jobs = format::counted(run.matched, "job", "jobs");
    let eta =
        run.eta_seconds.map(|eta| format!(" That takes about {}.", format::eta(eta))).unwrap_or_default();
    let close = url.clone().settled().without("confirm").to_string();
    let hidden = HiddenFields::default()
        .with("subject", "jobs")
        .with("action", "requeue")
        .with("query", retried(&url).unwrap_or_default())
        .with("matched", run.matched.to_string())
        .with("back", close.clone());
    view! {
        <Confirm
            action=bulk
            hidden=hidden
            title=format!("Retry {jobs}?")
            text=format!(
                "Waiting jobs and dead letters get all their attempts again and are sent as their integrations' limits allow.{eta}",
            )
            button_text=format!("Retry {jobs}")
            close=close
        />
    }
    .into_any()
}
