//! An integration's newest jobs. Visible rows change in place, new ones wait behind a link.

use crate::calls::jobs::list_jobs;
use crate::components::{JobStateBadge, NewerRows};
use crate::pages::jobs_subject;
use crate::state::{clock, page_url, refresh};
use crate::ui::{Ago, Card, EmptyState, Glyph, Link, Table};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::id::IntegrationId;
use model::job::{Job, JobStatus};
use model::stats::IntegrationGauge;
use model::views::job_list::JobList;
use std::time::Duration;

/// A few rows, and a link to all of them.
#[component]
pub fn RecentJobs(
    id: IntegrationId,
    jobs: Vec<Job>,
    /// Its live numbers: they change whenever a job does.
    gauge: Memo<IntegrationGauge>,
    /// Record changes create its jobs; false: the API does.
    is_sent_to: bool,
    /// Ages are relative to it.
    as_of: DateTime<Utc>,
) -> impl IntoView {
    let now = clock::now_or(as_of);
    let is_empty = jobs.is_empty();
    let query = format!("integration_id={id}");
    let newer =
        refresh::while_changing(Duration::from_secs(3), gauge, move || list_jobs(query.clone(), false));
    let ids = |list: &JobList| list.page.items.iter().map(|job| job.id).collect::<Vec<_>>();
    let came = refresh::came(newer, jobs.first().map(|job| job.id), ids);
    let here = page_url::current().with_untracked(|url| url.clone().settled().to_string());
    view! {
        <Card title="Recent jobs" sub="newest first" more=(format!("/jobs?integration_id={id}"), "All jobs".to_owned())>
            <NewerRows count=came href=here />
            {if is_empty {
                view! {
                    <EmptyState
                        glyph=Glyph::List
                        title="No jobs yet"
                        text=if is_sent_to {
                            "The first record change creates one. A re-sync sends all records."
                        } else {
                            "POST /api/v1/jobs creates one for a worker to fetch."
                        }
                    />
                }
                    .into_any()
            } else {
                view! {
                    <Table
                        label="Recent jobs"
                        stacks=true
                        head=|| {
                            view! {
                                <th scope="col">"Job"</th>
                                <th scope="col">"State"</th>
                                <th scope="col" class="n">"Attempts"</th>
                                <th scope="col">"Accepted"</th>
                            }
                        }
                    >
                        {jobs
                            .into_iter()
                            .map(|job| {
                                let id = job.id;
                                let state = refresh::row((job.status, job.attempt), move || {
                                    newer.with(|list| {
                                        let newest = list.as_ref()?.page.items.iter().find(|newest| newest.id == id)?;
                                        Some((newest.status, newest.attempt))
                                    })
                                });
                                view! { <Row job=job state=state now=now /> }
                            })
                            .collect_view()}
                    </Table>
                }
                    .into_any()
            }}
        </Card>
    }
    .into_any()
}

#[component]
fn Row(
    job: Job,
    /// Its state and attempts, live.
    state: Memo<(JobStatus, i16)>,
    now: Signal<DateTime<Utc>>,
) -> impl IntoView {
    let subject = jobs_subject(&job);
    let Job { id, job_type, max_attempts, created_at, .. } = job;
    view! {
        <tr>
            <td class="what">
                <Link href=format!("/jobs/{id}") class="font-medium hover:underline">
                    {subject}
                </Link>
                " "
                <span class="type-label text-faint">{job_type}</span>
            </td>
            <td class="state">
                <JobStateBadge status=Signal::derive(move || state.get().0) />
            </td>
            <td class=move || if state.get().1 == 0 { "n zero" } else { "n" } data-label="attempts">
                {move || format!("{} / {max_attempts}", state.get().1)}
            </td>
            <td class="when text-muted">
                <Ago at=created_at now=now />
            </td>
        </tr>
    }
    .into_any()
}
