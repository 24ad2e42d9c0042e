//! Jobs related to a job: those of its serialize key, and those of its correlation id.

use super::subject::subject;
use crate::components::JobStateBadge;
use crate::ui::{Card, Instant, Link};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::id::JobId;
use model::job::{Job, KeyNeighbour};

/// The job at the head of the key, and those behind it.
#[component]
pub fn KeyQueue(
    id: JobId,
    serialize_key: String,
    /// Jobs of the key, in order.
    queue: Vec<KeyNeighbour>,
) -> impl IntoView {
    let sub = format!("key {serialize_key}, one at a time");
    view! {
        <Card title="Same serialize key" sub=sub>
            <ol class="related">
                {queue
                    .into_iter()
                    .enumerate()
                    .map(|(at, job)| {
                        let says = match (at, job.id == id) {
                            (_, true) => "this job",
                            (0, _) => "head of the key: runs first",
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

/// The newest jobs of a correlation id, and a link to all.
#[component]
pub fn Correlated(
    correlation_id: String,
    others: Vec<Job>,
    /// There are more than these.
    has_more: bool,
    /// Decides which times are today's.
    now: DateTime<Utc>,
) -> impl IntoView {
    let query = serde_html_form::to_string([("q", &correlation_id)]).unwrap_or_default();
    let all = format!("/records?{query}&as=correlation");
    view! {
        <Card title="Same correlation id" sub=correlation_id>
            {if others.is_empty() {
                view! { <p class="px-4 pb-3 text-muted">"No other job has this correlation id."</p> }.into_any()
            } else {
                view! {
                    <ul class="related">
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
                <Link href=all class="underline">{if has_more { "Show all on one timeline" } else { "Show on one timeline" }}</Link>
            </p>
        </Card>
    }
    .into_any()
}
