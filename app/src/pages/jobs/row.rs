//! One job in the list; its state changes, the row stays.

use super::{cell::Cell, subject::subject};
use crate::{state::refresh, ui::Link};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::id::JobId;
use model::job::{Job, JobStatus};
use model::job_columns::{JobColumn, JobColumns};
use model::views::names::Names;
use std::collections::BTreeMap;

/// Newest status and attempt of the rows on screen, and how many jobs came after the first of them.
pub(super) type Fresh = Memo<(BTreeMap<JobId, (JobStatus, i16)>, usize)>;

#[component]
pub fn Row(
    /// The job as it was loaded.
    job: Job,
    /// Names of integrations.
    names: Names,
    /// What is shown of it.
    columns: StoredValue<JobColumns>,
    /// What changed since.
    fresh: Fresh,
    /// Ages are relative to it.
    now: Signal<DateTime<Utc>>,
    /// Draws its checkbox; `None` where rows cannot be selected.
    checkbox: Option<ViewFn>,
) -> impl IntoView {
    let id = job.id;
    let before = (job.status, job.attempt);
    let state = refresh::row(before, move || fresh.with(|(by_id, _)| by_id.get(&id).copied()));
    let about = subject(&job);
    let columns = columns.get_value();
    // Shown once: as a column, or here.
    let kind = (!columns.has(JobColumn::JobType)).then(|| job.job_type.clone());
    view! {
        <tr>
            {checkbox.map(|checkbox| view! { <td class="tick">{checkbox.run()}</td> })}
            <td class="what">
                <Link href=format!("/jobs/{id}") class="font-medium hover:underline">
                    {about.clone()}
                </Link>
                " "
                {kind.map(|kind| view! { <span class="type-label text-faint">{kind}</span> })}
            </td>
            {columns
                .iter()
                .map(|column| view! { <Cell column=column job=job.clone() names=names.clone() state=state now=now /> })
                .collect_view()}
        </tr>
    }
    .into_any()
}
