//! An integration's newest jobs.

use crate::components::JobStateBadge;
use crate::pages::jobs_subject;
use crate::state::clock;
use crate::ui::{Ago, Card, EmptyState, Glyph, Link, Table};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::{id::IntegrationId, job::Job};

/// A few rows, and a link to all of them.
#[component]
pub fn RecentJobs(
    id: IntegrationId,
    jobs: Vec<Job>,
    /// Record changes create its jobs; false: the API does.
    is_sent_to: bool,
    /// Ages are relative to it.
    as_of: DateTime<Utc>,
) -> impl IntoView {
    let now = clock::now_or(as_of);
    let is_empty = jobs.is_empty();
    view! {
        <Card title="Recent jobs" sub="newest first" more=(format!("/jobs?integration_id={id}"), "All jobs".to_owned())>
            {if is_empty {
                view! {
                    <EmptyState
                        glyph=Glyph::List
                        title="No jobs yet"
                        text=if is_sent_to {
                            "The first record change creates one. A re-sync sends the whole catalog."
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
                                let subject = jobs_subject(&job);
                                view! {
                                    <tr>
                                        <td class="what">
                                            <Link href=format!("/jobs/{}", job.id) class="font-medium hover:underline">
                                                {subject}
                                            </Link>
                                            " "
                                            <span class="type-label text-faint">{job.job_type}</span>
                                        </td>
                                        <td class="state">
                                            <JobStateBadge status=job.status />
                                        </td>
                                        <td class=if job.attempt == 0 { "n zero" } else { "n" } data-label="attempts">{format!("{} / {}", job.attempt, job.max_attempts)}</td>
                                        <td class="when text-muted">
                                            <Ago at=job.created_at now=now />
                                        </td>
                                    </tr>
                                }
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
