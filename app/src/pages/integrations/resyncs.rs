//! An integration's newest re-syncs, and the form that starts one.

use crate::calls::integrations::StartResync;
use crate::components::{ResyncBadge, ResyncProgress};
use crate::state::form_draft::Draft;
use crate::state::page_url;
use crate::ui::{
    Button, Card, Glyph, HiddenFields, Instant, PostForm, SelectField, SelectOption, TextField, form_action,
};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::id::IntegrationId;
use model::resync::{Resync, ResyncState};

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
    let draft = page_url::current().with_untracked(Draft::of);
    let (mode, record_type) = (draft.value("mode"), draft.value("record_type").unwrap_or_default());
    let start = form_action::<StartResync>();
    let hidden = HiddenFields::default().with("id", id.to_string()).with("back", back);
    view! {
        <Card title="Re-syncs" sub="sends the catalog again" more=(format!("/resyncs?integration_id={id}"), "All re-syncs".to_owned())>
            {may_resync
                .then(|| {
                    view! {
                        <PostForm action=start hidden=hidden class="filters">
                            <SelectField
                                name="mode"
                                label="What"
                                value=mode.unwrap_or_else(|| "changed".to_owned())
                                options=vec![
                                    SelectOption::new("changed", "What is not in sync"),
                                    SelectOption::new("full", "Everything"),
                                ]
                            />
                            <TextField name="record_type" label="Record type" placeholder="all" value=record_type error=draft.fault("record_type") />
                            <div class="fit">
                                <Button glyph=Glyph::Sync>"Re-sync"</Button>
                            </div>
                        </PostForm>
                    }
                })}
            {resyncs
                .is_empty()
                .then(|| view! { <p class="px-4 pt-1 pb-4 text-muted">"No re-sync yet."</p> })}
            <ul class="grid gap-3 px-4 pt-1">
                {resyncs
                    .into_iter()
                    .take(3)
                    .map(|resync| {
                        let waits = is_paused && resync.state == ResyncState::Running;
                        view! {
                            <li class="grid gap-1.5 last:pb-4">
                                <span class="flex items-center gap-2">
                                    <ResyncBadge resync=resync.clone() />
                                    <span class="type-label text-faint">
                                        <Instant at=resync.created_at now=as_of />
                                        " by "
                                        {resync.requested_by.clone()}
                                    </span>
                                </span>
                                <ResyncProgress resync=resync />
                                {waits.then(|| view! { <p class="type-label text-muted">"Its jobs wait: the integration is paused."</p> })}
                            </li>
                        }
                    })
                    .collect_view()}
            </ul>
        </Card>
    }
    .into_any()
}
