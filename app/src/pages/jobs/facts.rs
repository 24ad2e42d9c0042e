//! A job's names, times and keys.

use crate::format;
use crate::state::clock;
use crate::ui::{Ago, Card, Fact, Facts, Instant, Link};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::job::{Job, JobStatus};

#[component]
pub fn JobFacts(
    job: Job,
    /// Names of its app and its integration.
    names: (String, String),
    /// The record's version.
    version: Option<i64>,
    /// Decides which times are today's.
    as_of: DateTime<Utc>,
) -> impl IntoView {
    let now = clock::now_or(as_of);
    let (app, integration) = names;
    let about = job.record_type.clone().zip(job.record_id.clone());
    view! {
        <Card title="Facts">
            <Facts>
                <Fact name="App">
                    <Link href=format!("/integrations?app_id={}", job.app_id)>{app}</Link>
                </Fact>
                <Fact name="Integration">
                    <Link href=format!("/integrations/{}", job.integration_id) class="underline">{integration}</Link>
                    {format!(" · {}", job.integration_type.as_str())}
                </Fact>
                {about
                    .map(|(kind, id)| {
                        let app_id = job.app_id.to_string();
                        let query = serde_html_form::to_string([("q", &id), ("record_type", &kind), ("app_id", &app_id)]).unwrap_or_default();
                        view! {
                            <Fact name="Record">
                                <Link href=format!("/records?{query}") class="underline">{format!("{kind} / {id}")}</Link>
                                {version.map(|version| format!(" · version {version}"))}
                            </Fact>
                        }
                    })}
                <Fact name="Kind">{job.job_type.clone()}</Fact>
                <Fact name="Priority">{job.priority}</Fact>
                {job
                    .batch_id
                    .map(|id| {
                        view! {
                            <Fact name="Batch">
                                <Link href=format!("/jobs?batch_id={id}") class="type-mono type-label underline">{id.to_string()}</Link>
                            </Fact>
                        }
                    })}
                <Fact name="Accepted">
                    <Instant at=job.created_at now=as_of />
                    " · "
                    <Ago at=job.created_at now=now />
                </Fact>
                {job
                    .gathers_until
                    .map(|at| {
                        view! {
                            <Fact name="Collects changes">
                                "until "
                                <Instant at=at now=as_of />
                                " at the latest"
                            </Fact>
                        }
                    })}
                {job
                    .expires_at
                    .map(|at| {
                        view! {
                            <Fact name="Expires">
                                <Instant at=at now=as_of />
                            </Fact>
                        }
                    })}
                <Fact name="Correlation">
                    {job
                        .correlation_ids
                        .iter()
                        .rev()
                        .cloned()
                        .map(|id| {
                            view! {
                                <Link href=correlation_href(&id) class="type-mono type-label block py-1">
                                    {id}
                                </Link>
                            }
                        })
                        .collect_view()}
                    {(job.earlier_correlations > 0).then(|| format!("and {}", format::counted(job.earlier_correlations.into(), "earlier one", "earlier ones")))}
                </Fact>
                <Fact name="Serialize key">{job.serialize_key.clone().unwrap_or_else(|| "none".to_owned())}</Fact>
                {job
                    .deduplication_id
                    .clone()
                    .map(|id| view! { <Fact name="Deduplication"><span class="type-mono type-label">{id}</span></Fact> })}
                {job
                    .error_kind
                    .map(|kind| view! { <Fact name="Error kind">{kind.as_str().replace('_', " ")}</Fact> })}
                // Retention does not delete dead letters.
                {(job.status == JobStatus::Failed).then(|| view! { <Fact name="Kept">"until it is requeued or purged"</Fact> })}
            </Facts>
        </Card>
    }
    .into_any()
}

fn correlation_href(id: &str) -> String {
    format!("/jobs?{}", serde_html_form::to_string([("correlation_id", id)]).unwrap_or_default())
}
