//! One job in a list; its state moves, the row stays.

use super::{cell::Cell, subject::subject};
use crate::{
    calls::names::Names,
    state::job_columns::{JobColumn, JobColumns},
    ui::Link,
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
    /// What is shown of it.
    columns: StoredValue<JobColumns>,
    /// What moved since.
    fresh: Fresh,
    /// Against what ages are told.
    now: Signal<DateTime<Utc>>,
    /// How its tick is made; none where rows cannot be ticked.
    tick: Option<ViewFn>,
) -> impl IntoView {
    let id = job.id;
    let before = (job.status, job.attempt);
    let state = Memo::new(move |_| fresh.with(|(by_id, _)| by_id.get(&id).copied()).unwrap_or(before));
    let about = subject(&job);
    let columns = columns.get_value();
    // Said once.
    let kind = (!columns.has(JobColumn::JobType)).then(|| job.job_type.clone());
    view! {
        <tr>
            {tick.map(|tick| view! { <td class="tick">{tick.run()}</td> })}
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
