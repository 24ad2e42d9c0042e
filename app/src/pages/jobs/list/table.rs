//! The table of jobs.

use super::{
    super::{checkbox::RowCheckbox, row::Row, subject::subject},
    columns::{Accepted, Selectable, columns as head},
};
use crate::ui::{Remount, Table};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::id::JobId;
use model::job::{Job, JobStatus};
use model::job_columns::JobColumns;
use model::views::job_list::JobList;
use model::views::names::Names;
use std::collections::BTreeMap;

/// States and attempts of the rows on screen, and how many jobs came after them.
pub type Fresh = (BTreeMap<JobId, (JobStatus, i16)>, usize);

/// Follows the list as it is loaded again. Jobs that came are counted where they belong above the rows on screen.
pub fn fresh(newer: RwSignal<Option<JobList>>, newest_id: Option<JobId>, counts_new: bool) -> Memo<Fresh> {
    Memo::new(move |_| {
        newer.with(|list| {
            let jobs = list.as_ref().map(|list| list.page.items.as_slice()).unwrap_or_default();
            let by_id = jobs.iter().map(|job| (job.id, (job.status, job.attempt))).collect();
            let new = jobs.iter().take_while(|job| counts_new && Some(job.id) > newest_id).count();
            (by_id, new)
        })
    })
}

#[component]
pub fn JobTable(
    jobs: Vec<Job>,
    names: Names,
    columns: JobColumns,
    accepted: Accepted,
    /// `None`: nothing can be selected.
    selectable: Option<Selectable>,
    fresh: Memo<Fresh>,
    now: Signal<DateTime<Utc>>,
    /// The moment the list was read.
    as_of: DateTime<Utc>,
) -> impl IntoView {
    let shown_columns = StoredValue::new(columns.clone());
    let rows = move || {
        jobs.iter()
            .cloned()
            .map(|job| {
                let (id, about) = (job.id.0, subject(&job));
                let checkbox = selectable.map(|Selectable { selection, page, is_of_all }| {
                    let is_checked = untrack(|| selection.has(id));
                    ViewFn::from(move || {
                        view! {
                            <RowCheckbox
                                id=id
                                about=about.clone()
                                selection=selection
                                page=page
                                is_of_all=is_of_all
                                is_checked=is_checked
                            />
                        }
                    })
                });
                view! { <Row names=names.clone() columns=shown_columns job=job fresh=fresh now=now checkbox=checkbox /> }
            })
            .collect_view()
    };
    view! {
        <Table label="Jobs" stacks=true head=move || head(selectable, &columns, &accepted)>
            <Remount key=as_of>{rows.clone()}</Remount>
        </Table>
    }
    .into_any()
}
