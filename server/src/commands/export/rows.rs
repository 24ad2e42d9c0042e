//! Reads the rows page by page, from the same lists as the API's.

use super::{Selection, What, write::Writer};
use delivery::Delivery;
use model::{
    filter::JobFilter,
    id::{AppId, IntegrationId},
    integration::Integration,
    integration_query::IntegrationFilter,
    page::{MAX_LIMIT, PageRequest},
    record::{RecordFilter, SentFilter, SentRecord},
    record_page::RecordPageRequest,
};
use serde::Serialize;
use std::io::Write;

pub(crate) const DEAD_LETTERS: [&str; 13] = [
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
const SENT: [&str; 7] =
    ["app_id", "integration_id", "record_type", "record_id", "version", "sent_at", "attributes"];

/// Sent state with its integration, because one export has the rows of several.
#[derive(Serialize)]
struct Sent<'a> {
    app_id: AppId,
    integration_id: IntegrationId,
    #[serde(flatten)]
    sent: &'a SentRecord,
}

pub(super) async fn write(
    delivery: &Delivery,
    selection: &Selection,
    out: &mut Writer<impl Write>,
) -> anyhow::Result<()> {
    match selection.what {
        What::DeadLetters => dead_letters(delivery, selection, out).await,
        What::Records => records(delivery, selection, out).await,
        What::Sent => sent(delivery, selection, out).await,
    }
}

async fn dead_letters(
    delivery: &Delivery,
    selection: &Selection,
    out: &mut Writer<impl Write>,
) -> anyhow::Result<()> {
    out.names(&DEAD_LETTERS)?;
    let filter = JobFilter {
        integration_id: selection.integration,
        record_type: selection.record_type.clone(),
        ..JobFilter::default()
    };
    let mut page = PageRequest { limit: MAX_LIMIT, after: None };
    loop {
        let found =
            insight::store::dead_letters::list(&delivery.pool, selection.scope, &filter, page).await?;
        for dead_letter in &found.items {
            out.row(dead_letter, &DEAD_LETTERS)?;
        }
        if found.next_cursor.is_none() {
            return Ok(());
        }
        page = PageRequest::parse(Some(MAX_LIMIT), found.next_cursor.as_deref())?;
    }
}

async fn records(
    delivery: &Delivery,
    selection: &Selection,
    out: &mut Writer<impl Write>,
) -> anyhow::Result<()> {
    out.names(&RECORDS)?;
    let mut filter =
        RecordFilter { app_id: selection.scope.app_id(), record_type: selection.record_type.clone() };
    let mut types = None;
    if let Some(id) = selection.integration {
        let integration = delivery.integration(selection.scope, id).await?;
        filter.app_id = Some(integration.app_id);
        types = integration.record_types;
    }
    let Some(types) = types else { return records_of(delivery, selection, &filter, out).await };
    let asked_for = |kind: &String| selection.record_type.as_ref().is_none_or(|asked| asked == kind);
    for kind in types.into_iter().filter(asked_for) {
        filter.record_type = Some(kind);
        records_of(delivery, selection, &filter, out).await?;
    }
    Ok(())
}

async fn records_of(
    delivery: &Delivery,
    selection: &Selection,
    filter: &RecordFilter,
    out: &mut Writer<impl Write>,
) -> anyhow::Result<()> {
    let mut page = RecordPageRequest { limit: MAX_LIMIT, after: None };
    loop {
        let found = delivery.records(selection.scope, filter, &page).await?;
        for record in &found.items {
            out.row(record, &RECORDS)?;
        }
        if found.next_cursor.is_none() {
            return Ok(());
        }
        page = RecordPageRequest::parse(Some(MAX_LIMIT), found.next_cursor.as_deref())?;
    }
}

async fn sent(
    delivery: &Delivery,
    selection: &Selection,
    out: &mut Writer<impl Write>,
) -> anyhow::Result<()> {
    out.names(&SENT)?;
    if let Some(id) = selection.integration {
        let integration = delivery.integration(selection.scope, id).await?;
        return sent_to(delivery, selection, &integration, out).await;
    }
    let filter = IntegrationFilter { app_id: selection.scope.app_id(), state: None };
    let mut page = PageRequest { limit: MAX_LIMIT, after: None };
    loop {
        let found = delivery.integrations(selection.scope, filter, page).await?;
        for integration in &found.items {
            sent_to(delivery, selection, integration, out).await?;
        }
        if found.next_cursor.is_none() {
            return Ok(());
        }
        page = PageRequest::parse(Some(MAX_LIMIT), found.next_cursor.as_deref())?;
    }
}

async fn sent_to(
    delivery: &Delivery,
    selection: &Selection,
    integration: &Integration,
    out: &mut Writer<impl Write>,
) -> anyhow::Result<()> {
    let filter = SentFilter { record_type: selection.record_type.clone(), record_id: None };
    let mut page = RecordPageRequest { limit: MAX_LIMIT, after: None };
    loop {
        let found = delivery.sent(selection.scope, integration.id, &filter, &page).await?;
        for sent in &found.items {
            let row = Sent { app_id: integration.app_id, integration_id: integration.id, sent };
            out.row(&row, &SENT)?;
        }
        if found.next_cursor.is_none() {
            return Ok(());
        }
        page = RecordPageRequest::parse(Some(MAX_LIMIT), found.next_cursor.as_deref())?;
    }
}
