//! A record: its version, and what every integration has of it.

use crate::{components::RecordSyncs, format, state::page_url::PageUrl, ui::Card};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::{record::RecordWithSync, trail::TrailRecord};

#[component]
pub fn RecordCard(
    record: TrailRecord,
    /// The page, for a link to this record alone; `None`: it is the only one.
    others: Option<PageUrl>,
    /// Decides which times are today's.
    as_of: DateTime<Utc>,
) -> impl IntoView {
    let TrailRecord { app_name, record: RecordWithSync { record, integrations } } = record;
    let when = record.deleted_at.map_or_else(
        || format!("version {}, changed {}", record.version, format::clock(record.updated_at, as_of)),
        |at| format!("deleted {}", format::clock(at, as_of)),
    );
    let more = others.map(|url| {
        let alone = url
            .settled()
            .without("cursor")
            .with("q", &record.record_id)
            .with("as", "record")
            .with("app_id", record.app_id)
            .with("record_type", &record.record_type);
        (alone.to_string(), "Only this".to_owned())
    });
    view! {
        <Card title=format!("{} {} · {app_name}", record.record_type, record.record_id) sub=when more=more>
            {if integrations.is_empty() {
                view! { <p class="px-4 py-3 text-muted">"No integration of its app takes records of this type."</p> }.into_any()
            } else {
                view! { <RecordSyncs syncs=integrations newest=record.version /> }.into_any()
            }}
        </Card>
    }
    .into_any()
}
