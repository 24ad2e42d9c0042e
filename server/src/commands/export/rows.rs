//! Where the rows come from: the same lists as the API's, page after page.

use super::{Wanted, What, write::Writer};
use delivery::{Delivery, RecordFilter, RecordPageRequest, SentFilter};
use model::{
    filter::JobFilter,
    page::{MAX_LIMIT, PageRequest},
};
use std::io::Write;

const DEAD_LETTERS: [&str; 13] = [
    "id",
    "job_id",
    "app_id",
    "integration_id",
    "job_type",
    "record_type",
    "record_id",
    "correlation_id",
    "error_kind",
    "error_message",
    "failed_at",
    "attempts",
    "payload",
];
const RECORDS: [&str; 7] =
    ["app_id", "record_type", "record_id", "version", "updated_at", "created_at", "attributes"];
const SENT: [&str; 5] = ["record_type", "record_id", "version", "sent_at", "attributes"];

/// Writes every row that is wanted.
pub(super) async fn write(
    delivery: &Delivery,
    wanted: &Wanted,
    out: &mut Writer<impl Write>,
) -> anyhow::Result<()> {
    match wanted.what {
        What::DeadLetters => dead_letters(delivery, wanted, out).await,
        What::Records => records(delivery, wanted, out).await,
        What::Sent => sent(delivery, wanted, out).await,
    }
}

async fn dead_letters(
    delivery: &Delivery,
    wanted: &Wanted,
    out: &mut Writer<impl Write>,
) -> anyhow::Result<()> {
    out.names(&DEAD_LETTERS)?;
    let filter = JobFilter {
        integration_id: wanted.integration,
        record_type: wanted.record_type.clone(),
        ..JobFilter::default()
    };
    let mut page = PageRequest { limit: MAX_LIMIT, after: None };
    loop {
        let found = queue::store::dead_letters::list(&delivery.pool, wanted.scope, &filter, page).await?;
        for dead_letter in &found.items {
            out.row(dead_letter, &DEAD_LETTERS)?;
        }
        if found.next_cursor.is_none() {
            return Ok(());
        }
        page = PageRequest::parse(Some(MAX_LIMIT), found.next_cursor.as_deref())?;
    }
}

async fn records(delivery: &Delivery, wanted: &Wanted, out: &mut Writer<impl Write>) -> anyhow::Result<()> {
    out.names(&RECORDS)?;
    let filter = RecordFilter { app_id: wanted.scope.app_id(), record_type: wanted.record_type.clone() };
    let mut page = RecordPageRequest { limit: MAX_LIMIT, after: None };
    loop {
        let found = delivery.records(wanted.scope, &filter, &page).await?;
        for record in &found.items {
            out.row(record, &RECORDS)?;
        }
        if found.next_cursor.is_none() {
            return Ok(());
        }
        page = RecordPageRequest::parse(Some(MAX_LIMIT), found.next_cursor.as_deref())?;
    }
}

async fn sent(delivery: &Delivery, wanted: &Wanted, out: &mut Writer<impl Write>) -> anyhow::Result<()> {
    let Some(integration) = wanted.integration else { return Ok(()) };
    out.names(&SENT)?;
    let filter = SentFilter { record_type: wanted.record_type.clone(), record_id: None };
    let mut page = RecordPageRequest { limit: MAX_LIMIT, after: None };
    loop {
        let found = delivery.sent(wanted.scope, integration, &filter, &page).await?;
        for sent in &found.items {
            out.row(sent, &SENT)?;
        }
        if found.next_cursor.is_none() {
            return Ok(());
        }
        page = RecordPageRequest::parse(Some(MAX_LIMIT), found.next_cursor.as_deref())?;
    }
}
