//! What a job sends of its record: what differs from what was last accepted, or everything.

use crate::components::{DeltaDiff, Payload};
use crate::format;
use crate::ui::Card;
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::{job::JobStatus, views::job_page::JobRecord};

#[component]
pub fn WhatItSends(
    /// The record, and what was last accepted of it.
    record: JobRecord,
    /// A finished job sends nothing: then the card shows what another one would send.
    status: JobStatus,
    /// Decides which times are today's.
    as_of: DateTime<Utc>,
) -> impl IntoView {
    let is_done = matches!(status, JobStatus::Completed | JobStatus::Cancelled);
    let title = if is_done { "What differs now" } else { "What it sends" };
    let JobRecord { record, sent, is_full } = record;
    let sends_whole_record = is_full && !is_done;
    let sub = match &sent {
        _ if sends_whole_record => "full send: every attribute".to_owned(),
        Some((version, at, _)) => {
            format!("against version {version}, accepted {}", format::clock(*at, as_of))
        }
        None => "first send: every attribute".to_owned(),
    };
    let before = sent.filter(|_| !sends_whole_record).map(|(_, _, attributes)| attributes);
    view! {
        <Card title=title sub=sub>
            <DeltaDiff before=before after=record.record.attributes.clone() />
            <details class="data-table">
                <summary>{format!("Whole record, version {}", record.record.version)}</summary>
                <Payload value=serde_json::Value::Object(record.record.attributes) label="whole record" />
            </details>
        </Card>
    }
    .into_any()
}
