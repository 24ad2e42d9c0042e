//! What was tried, and what is sent.

use super::{
    super::{edit::EditAndRetry, request::AsCurl, what_it_sends::WhatItSends},
    live::LiveJob,
};
use crate::components::{AttemptTimeline, History, Payload};
use crate::ui::{Card, EmptyState, Glyph};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::job::JobStatus;

#[component]
pub fn Work(live: LiveJob, may_edit: bool, as_of: DateTime<Utc>) -> impl IntoView {
    let LiveJob { job: the_job, status, attempts, payload, masking, record, request, result, .. } = live;
    let id = the_job.with_untracked(|job| job.id);
    // A job about a record shows what was last sent as its payload, which is not its own.
    let own = Memo::new(move |_| payload.get().filter(|_| the_job.with(|job| job.record_id.is_none())));
    let masked = Memo::new(move |_| masking.get().0);
    let history = Memo::new(move |_| the_job.with(|job| History::of(job, attempts.get())));
    let made = Signal::derive(move || history.with(|h| h.in_words(the_job.with(|job| job.max_attempts))));
    let is_tried = Memo::new(move |_| history.with(|history| !history.entries.is_empty()));
    let is_dead = Memo::new(move |_| status.get() == JobStatus::Failed);
    view! {
        <Card title="Attempts" sub=made>
            {move || {
                if is_tried.get() {
                    view! { <AttemptTimeline history=history now=as_of is_dead=is_dead /> }.into_any()
                } else {
                    view! { <NoAttempts status=status.get() /> }.into_any()
                }
            }}
        </Card>
        {move || record.get().map(|record| view! { <WhatItSends record=record status=status.get_untracked() as_of=as_of /> })}
        {move || {
            payload
                .get()
                .map(|payload| {
                    view! {
                        <Card title="Payload">
                            <Payload value=payload label="payload" />
                        </Card>
                    }
                })
        }}
        {may_edit.then(|| view! { <EditAndRetry id=id payload=own masked=masked is_failed=is_dead /> })}
        {move || request.get().map(|request| view! { <AsCurl request=request /> })}
        {move || {
            result
                .get()
                .map(|result| {
                    view! {
                        <Card title="Result">
                            <Payload value=result label="result" />
                        </Card>
                    }
                })
        }}
    }
    .into_any()
}

#[component]
fn NoAttempts(status: JobStatus) -> impl IntoView {
    let text = match status {
        JobStatus::Cancelled => "Cancelled before the first attempt.",
        JobStatus::Completed => "Completed on the first attempt; no details are kept.",
        _ => "The first attempt starts as soon as every gate is open.",
    };
    view! { <EmptyState glyph=Glyph::Clock title="No attempts to show" text=text /> }
}
