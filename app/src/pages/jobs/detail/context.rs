//! What a job belongs to: its names and keys, its neighbours, its record.

use super::super::facts::JobFacts;
use super::super::folded::FoldedIn;
use super::super::related::{Correlated, KeyQueue};
use super::live::LiveJob;
use crate::{components::RecordSyncs, ui::Card};
use chrono::{DateTime, Utc};
use leptos::prelude::*;

#[component]
pub fn Context(
    live: LiveJob,
    /// Names of its app and its integration.
    names: (String, String),
    as_of: DateTime<Utc>,
) -> impl IntoView {
    let LiveJob { job: the_job, folded_changes, related, record, .. } = live;
    let id = the_job.with_untracked(|job| job.id);
    view! {
        {move || view! { <JobFacts job=the_job.get() names=names.clone() version=record.with(|r| r.as_ref().map(|r| r.record.record.version)) as_of=as_of /> }}
        {move || {
            let folded = the_job.with(|job| job.folded);
            (folded > 0).then(|| view! { <FoldedIn folded=folded changes=folded_changes.get() now=as_of /> })
        }}
        {move || {
            let queue = related.get().line;
            the_job
                .with(|job| job.serialize_key.clone())
                .filter(|_| queue.len() > 1)
                .map(|key| view! { <KeyQueue id=id serialize_key=key queue=queue /> })
        }}
        {move || {
            let related = related.get();
            let correlation_id = the_job.with(|job| job.last_correlation_id().to_owned());
            view! { <Correlated correlation_id=correlation_id others=related.correlated has_more=related.has_more now=as_of /> }
        }}
        {move || {
            record
                .get()
                .map(|record| {
                    view! {
                        <Card title="This record, everywhere">
                            <RecordSyncs syncs=record.record.integrations newest=record.record.record.version />
                        </Card>
                    }
                })
        }}
    }
    .into_any()
}
