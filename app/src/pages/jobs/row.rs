//! One job in a list; its state moves, the row stays.

use super::subject::subject;
use crate::{
    calls::names::Names,
    components::{IntegrationLink, JobStateBadge},
    format,
    ui::{Ago, Link},
};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::{
    id::JobId,
    job::{Job, JobStatus},
};
use std::collections::BTreeMap;

/// Newest status and attempt of the rows on screen, and how many jobs came after the first of them.
pub(super) type Fresh = Memo<(BTreeMap<JobId, (JobStatus, i16)>, usize)>;

/// The row.
#[component]
pub fn Row(
    /// The job as the list gave it.
    job: Job,
    /// What its integration is called.
    names: Names,
    /// What moved since.
    fresh: Fresh,
    /// Against what ages are told.
    now: Signal<DateTime<Utc>>,
    /// How its tick is made; none where rows cannot be ticked.
    tick: Option<ViewFn>,
) -> impl IntoView {
    let id = job.id;
    let (status, attempt, most) = (job.status, job.attempt, job.max_attempts);
    let state =
        Memo::new(move |_| fresh.with(|(by_id, _)| by_id.get(&id).copied()).unwrap_or((status, attempt)));
    let about = subject(&job);
    let error = job.error_message.as_deref().map_or("–", format::error_line).to_owned();
    view! {
        <tr>
            {tick.map(|tick| view! { <td class="tick">{tick.run()}</td> })}
            <td class="what">
                <Link href=format!("/jobs/{id}") class="font-medium hover:underline">
                    {about.clone()}
                </Link>
                " "
                <span class="type-label text-faint">{job.job_type.clone()}</span>
            </td>
            <td class="state">
                <JobStateBadge status=Signal::derive(move || state.get().0) />
            </td>
            <td class="where">
                <IntegrationLink id=job.integration_id names=names />
            </td>
            <td class=move || if state.get().1 == 0 { "n zero" } else { "n" } data-label="attempts">{move || format!("{} / {most}", state.get().1)}</td>
            <td class="when text-muted">
                <Ago at=job.created_at now=now />
            </td>
            <td class=if job.error_message.is_some() { "grow rest text-muted" } else { "grow rest zero" } title=job.error_message>{error}</td>
        </tr>
    }
    .into_any()
}
