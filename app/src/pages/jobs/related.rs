//! What stands beside a job: the line at its serialize key, and everything of its correlation id.

use super::subject::subject;
use crate::{
    components::JobStateBadge,
    ui::{Card, Instant, Link},
};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::{
    id::JobId,
    job::{Job, KeyNeighbour},
};

/// Who holds the key, and who waits for it.
#[component]
pub fn KeyLine(
    /// The job.
    id: JobId,
    /// The key.
    serialize_key: String,
    /// Its line, in order.
    line: Vec<KeyNeighbour>,
) -> impl IntoView {
    let sub = format!("key {serialize_key}, one at a time");
    view! {
        <Card title="In line" sub=sub>
            <ol class="beside">
                {line
                    .into_iter()
                    .enumerate()
                    .map(|(at, job)| {
                        let says = match (at, job.id == id) {
                            (_, true) => "this job",
                            (0, _) => "first: it holds the key, or takes it next",
                            _ => "",
                        };
                        let KeyNeighbour { id: other, status, job_type } = job;
                        view! {
                            <li aria-current=(other == id).then_some("true")>
                                <Link href=format!("/jobs/{other}")>{job_type}</Link>
                                <JobStateBadge status=status />
                                <span class="text-muted">{says}</span>
                            </li>
                        }
                    })
                    .collect_view()}
            </ol>
        </Card>
    }
    .into_any()
}

/// The newest of a correlation id, and the way to all.
#[component]
pub fn Correlated(
    /// The correlation id.
    correlation_id: String,
    /// Others of it.
    others: Vec<Job>,
    /// There are more.
    has_more: bool,
    /// Decides what today is.
    now: DateTime<Utc>,
) -> impl IntoView {
    let query = serde_html_form::to_string([("q", &correlation_id)]).unwrap_or_default();
    let all = format!("/records?{query}&as=correlation");
    view! {
        <Card title="Of the same correlation" sub=correlation_id>
            {if others.is_empty() {
                view! { <p class="px-4 pb-3 text-muted">"No other job has this correlation id."</p> }.into_any()
            } else {
                view! {
                    <ul class="beside">
                        {others
                            .into_iter()
                            .map(|job| {
                                let (what, status, at) = (subject(&job), job.status, job.created_at);
                                view! {
                                    <li>
                                        <Link href=format!("/jobs/{}", job.id)>{what}</Link>
                                        <JobStateBadge status=status />
                                        <span class="text-muted"><Instant at=at now=now /></span>
                                    </li>
                                }
                            })
                            .collect_view()}
                    </ul>
                }
                    .into_any()
            }}
            <p class="px-4 pb-3 type-label">
                <Link href=all class="underline">{if has_more { "All of them, on one time line" } else { "On one time line" }}</Link>
            </p>
        </Card>
    }
    .into_any()
}
