//! An integration's newest re-syncs, and the form that starts one.

use crate::{
    calls::integrations::StartResync,
    components::{ResyncBadge, ResyncProgress},
    ui::{Button, Card, Glyph, HiddenFields, Instant, PostForm, SelectField, SelectOption, TextField},
};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::{id::IntegrationId, resync::Resync};

/// The card.
#[component]
pub fn Resyncs(
    /// Whose.
    id: IntegrationId,
    /// Newest first.
    resyncs: Vec<Resync>,
    /// Whether the reader may start one.
    may_resync: bool,
    /// Where to come back to.
    back: String,
    /// Decides what today is.
    as_of: DateTime<Utc>,
) -> impl IntoView {
    let start = ServerAction::<StartResync>::new();
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
                                value="changed"
                                options=vec![
                                    SelectOption::new("changed", "What is not in sync"),
                                    SelectOption::new("full", "Everything"),
                                ]
                            />
                            <TextField name="record_type" label="Record type" placeholder="all" />
                            <div class="fit">
                                <Button glyph=Glyph::Sync>"Re-sync"</Button>
                            </div>
                        </PostForm>
                    }
                })}
            {resyncs
                .is_empty()
                .then(|| view! { <p class="px-4 pt-1 pb-4 text-muted">"None yet: only changes were sent so far."</p> })}
            <ul class="grid gap-3 px-4 pt-1">
                {resyncs
                    .into_iter()
                    .take(3)
                    .map(|resync| {
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
                            </li>
                        }
                    })
                    .collect_view()}
            </ul>
        </Card>
    }
    .into_any()
}
