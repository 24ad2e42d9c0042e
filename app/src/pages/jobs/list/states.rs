//! The states a list of jobs can be filtered by, and what it shows then, in words.

use crate::components::JobStateStyle;
use crate::format;
use crate::state::page_url::PageUrl;
use crate::ui::{Segment, Segmented};
use leptos::prelude::*;
use model::{job::JobStatus, matched::Matched};

/// What the list shows, in a sentence.
pub fn headline(url: &PageUrl) -> String {
    let status = url.get("status").and_then(|word| word.parse::<JobStatus>().ok());
    match status {
        Some(JobStatus::Pending) => "Jobs waiting for their first attempt, newest first.",
        Some(JobStatus::Processing) => "Jobs being processed now.",
        Some(JobStatus::ToBeRetried) => "Jobs that failed and wait for another attempt, due or not.",
        Some(JobStatus::Retrying) => "Jobs whose next attempt is due.",
        Some(JobStatus::Completed) => "Jobs completed in the last 24 hours, unless filtered by time.",
        Some(JobStatus::Failed) => "Dead letters: jobs that will not be retried automatically.",
        Some(JobStatus::Cancelled) => "Cancelled jobs.",
        None => "All jobs, in every state.",
    }
    .to_owned()
}

/// How many jobs the page shows; `of`: how many match, where there are more.
pub fn shown(rows: usize, of: Option<Matched>) -> String {
    match of {
        Some(matched) => format!("{} of {} jobs shown", format::count(rows as i64), matched.all),
        None => format::counted(rows as i64, "job shown", "jobs shown"),
    }
}

/// A link for each state.
#[component]
pub fn States(url: PageUrl) -> impl IntoView {
    view! {
        <div class="mb-3 flex">
            <Segmented label="State" segments=segments(&url) />
        </div>
    }
}

fn segments(url: &PageUrl) -> Vec<Segment> {
    let now = url.get("status").unwrap_or_default().to_owned();
    let url = url.clone().without("cursor").without("ticked").without("sort");
    let all = Segment {
        href: url.clone().without("status").to_string(),
        label: "All".to_owned(),
        count: None,
        is_current: now.is_empty(),
    };
    let states = JobStatus::ALL.iter().copied().map(|status| Segment {
        href: url.clone().with("status", status.as_str()).to_string(),
        label: JobStateStyle::of(status).word.to_owned(),
        count: None,
        is_current: now == status.as_str(),
    });
    std::iter::once(all).chain(states).collect()
}
