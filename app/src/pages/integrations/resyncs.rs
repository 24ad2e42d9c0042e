//! An integration's newest re-syncs, and the form that starts one. Those on screen change in place, new ones wait behind a link.

use crate::calls::integrations::StartResync;
use crate::calls::resyncs::list_resyncs;
use crate::components::{NewerRows, ResyncBadge, ResyncProgress};
use crate::state::form_draft::Draft;
use crate::state::{page_url, refresh};
use crate::ui::{
    Button, Card, Glyph, HiddenFields, Instant, PostForm, SelectField, SelectOption, TextField, form_action,
};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::id::IntegrationId;
use model::resync::{Resync, ResyncState};
use model::views::resyncs::ResyncList;
use std::time::Duration;

#[component]
pub fn Resyncs(
    id: IntegrationId,
    resyncs: Vec<Resync>,
    /// The integration is paused: its re-syncs send nothing.
    is_paused: bool,
    may_resync: bool,
    /// Where the form leads back to.
    back: String,
    /// Decides which times are today's.
    as_of: DateTime<Utc>,
) -> impl IntoView {
    let url = page_url::current().get_untracked();
    let draft = Draft::of(&url);
    let (mode, record_type) = (draft.value("mode"), draft.value("record_type").unwrap_or_default());
    let start = form_action::<StartResync>();
    let hidden = HiddenFields::default().with("id", id.to_string()).with("back", back);
    let query = format!("integration_id={id}");
    let newer = refresh::every(Duration::from_secs(3), move || list_resyncs(query.clone()));
    let ids = |list: &ResyncList| list.page.items.iter().map(|resync| resync.id).collect::<Vec<_>>();
    let came = refresh::came(newer, resyncs.first().map(|resync| resync.id), ids);
    let here = url.settled().to_string();
    view! {
        <Card title="Re-syncs" more=(format!("/resyncs?integration_id={id}"), "All re-syncs".to_owned())>
            {may_resync
                .then(|| {
                    view! {
                        <PostForm action=start hidden=hidden class="filters">
                            <SelectField
                                name="mode"
                                label="Scope"
                                value=mode.unwrap_or_else(|| "changed".to_owned())
                                options=vec![
                                    SelectOption::new("changed", "Records not in sync"),
                                    SelectOption::new("full", "All records"),
                                ]
                            />
                            <TextField name="record_type" label="Record type" placeholder="all" value=record_type error=draft.fault("record_type") />
                            <div class="fit">
                                <Button glyph=Glyph::Sync>"Re-sync"</Button>
                            </div>
                        </PostForm>
                    }
                })}
            <NewerRows count=came href=here />
            {resyncs
                .is_empty()
                .then(|| view! { <p class="px-4 pt-1 pb-4 text-muted">"No re-syncs yet."</p> })}
            <ul class="grid gap-3 px-4 pt-1">
                {resyncs
                    .into_iter()
                    .take(3)
                    .map(|first| {
                        let id = first.id;
                        let row = refresh::row(first, move || {
                            newer.with(|list| list.as_ref()?.page.items.iter().find(|r| r.id == id).cloned())
                        });
                        view! { <Row row=row is_paused=is_paused as_of=as_of /> }
                    })
                    .collect_view()}
            </ul>
        </Card>
    }
    .into_any()
}

#[component]
fn Row(row: Memo<Resync>, is_paused: bool, as_of: DateTime<Utc>) -> impl IntoView {
    let Resync { created_at, requested_by, .. } = row.get_untracked();
    let waits = Memo::new(move |_| is_paused && row.with(|resync| resync.state == ResyncState::Running));
    view! {
        <li class="grid gap-1.5 last:pb-4">
            <span class="flex items-center gap-2">
                {move || view! { <ResyncBadge resync=row.get() /> }}
                <span class="type-label text-faint">
                    <Instant at=created_at now=as_of />
                    " by "
                    {requested_by}
                </span>
            </span>
            {move || view! { <ResyncProgress resync=row.get() /> }}
            {move || {
                waits
                    .get()
                    .then(|| view! { <p class="type-label text-muted">"Its jobs wait: the integration is paused."</p> })
            }}
        </li>
    }
    .into_any()
}
