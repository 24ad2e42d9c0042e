//! One job in a list; its state moves, the row stays.

use super::subject::subject;
use crate::{
    components::JobStateBadge,
    ui::{Ago, CheckField, Link},
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
    /// Name and app of its integration.
    names: Option<(String, String)>,
    /// What moved since.
    fresh: Fresh,
    /// Against what ages are told.
    now: Signal<DateTime<Utc>>,
    /// Whether rows can be ticked.
    may_steer: bool,
) -> impl IntoView {
    let id = job.id;
    let (status, attempt, most) = (job.status, job.attempt, job.max_attempts);
    let state =
        Memo::new(move |_| fresh.with(|(by_id, _)| by_id.get(&id).copied()).unwrap_or((status, attempt)));
    let about = subject(&job);
    let error = job.error_message.as_deref().and_then(|text| text.lines().next()).unwrap_or("–").to_owned();
    let (integration, app) = names.unwrap_or_else(|| (job.integration_id.to_string(), String::new()));
    view! {
        <tr>
            {may_steer
                .then(|| {
                    view! {
                        <td>
                            <CheckField name="ids[]" value=id.to_string() label=format!("Choose {about}") bare=true form="chosen" />
                        </td>
                    }
                })}
            <td>
                <Link href=format!("/jobs/{id}") class="font-medium hover:underline">
                    {about.clone()}
                </Link>
                " "
                <span class="type-label text-faint">{job.job_type.clone()}</span>
            </td>
            <td>
                <JobStateBadge status=Signal::derive(move || state.get().0) />
            </td>
            <td>
                <Link href=format!("/integrations/{}", job.integration_id) class="hover:underline">
                    {integration}
                </Link>
                " "
                <span class="type-label text-faint">{app}</span>
            </td>
            <td class="n">{move || format!("{} / {most}", state.get().1)}</td>
            <td class="text-muted">
                <Ago at=job.created_at now=now />
            </td>
            <td class="clip text-muted">{error}</td>
        </tr>
    }
    .into_any()
}
