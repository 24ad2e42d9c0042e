//! Jobs on a timeline, newest first. Entries change as their jobs do, and keep their place.

use super::story::story;
use crate::components::{IntegrationLink, JobStateBadge, JobStateStyle};
use crate::pages::jobs_subject;
use crate::state::refresh;
use crate::ui::{Icon, Instant, Link};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::rules::plain_cause;
use model::views::names::Names;
use model::{id::JobId, trail::TrailJob};
use std::collections::BTreeMap;

/// The newest version of the jobs on screen.
pub(super) type Fresh = Memo<BTreeMap<JobId, TrailJob>>;

#[component]
pub fn Timeline(
    /// Newest first.
    items: Vec<TrailJob>,
    /// What changed since.
    fresh: Fresh,
    /// Names of integrations.
    names: Names,
    /// The text searched for; a job with that id is marked.
    asked: String,
    /// Decides which times are today's.
    as_of: DateTime<Utc>,
) -> impl IntoView {
    view! {
        <ol class="tl">
            {items
                .into_iter()
                .map(|item| {
                    let is_asked = item.job.id.to_string() == asked;
                    view! { <Entry item=item fresh=fresh names=names.clone() is_asked=is_asked as_of=as_of /> }
                })
                .collect_view()}
        </ol>
    }
    .into_any()
}

#[component]
fn Entry(item: TrailJob, fresh: Fresh, names: Names, is_asked: bool, as_of: DateTime<Utc>) -> impl IntoView {
    let id = item.job.id;
    let (created_at, integration_id) = (item.job.created_at, item.job.integration_id);
    let about = jobs_subject(&item.job);
    let kind = (about != item.job.job_type).then(|| item.job.job_type.clone());
    let item = refresh::row(item, move || fresh.with(|fresh| fresh.get(&id).cloned()));
    let status = Memo::new(move |_| item.with(|item| item.job.status));
    let glyph = Signal::derive(move || JobStateStyle::of(status.get()).glyph);
    view! {
        <li class=move || format!("try {}", JobStateStyle::of(status.get()).tone.class())>
            <span class="knob">
                <Icon glyph=glyph size="w-[11px] h-[11px]" />
            </span>
            <span class="when">
                <Instant at=created_at now=as_of />
            </span>
            <div class="what">
                <Link href=format!("/jobs/{id}") class="font-semibold hover:underline">{about}</Link>
                " "
                {kind.map(|kind| view! { <span class="type-label text-faint">{kind}</span> })}
                " → "
                <IntegrationLink id=integration_id names=names />
                {is_asked.then(|| view! { <span class="type-label text-accent">" · the job you searched for"</span> })}
                <p>{move || item.with(|item| story(item, as_of))}</p>
                {move || {
                    item.with(|item| item.last_error.clone().or_else(|| item.job.error_message.clone()))
                        .map(|error| {
                            let line = format!("Last error: {}", plain_cause::sentence(&error, None));
                            view! { <p title=error>{line}</p> }
                        })
                }}
            </div>
            <span class="end">
                <JobStateBadge status=status />
            </span>
        </li>
    }
    .into_any()
}
