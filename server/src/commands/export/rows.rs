//! Reads the rows page by page, from the same lists as the API's.

use crate::export_format::{DEAD_LETTERS, Writer};
use clap::ValueEnum;
use delivery::Delivery;
use model::actor::Scope;
use model::filter::JobFilter;
use model::id::{AppId, IntegrationId};
use model::integration::Integration;
use model::integration_query::IntegrationFilter;
use model::page::{MAX_LIMIT, Page, PageRequest};
use model::record::{RecordFilter, SentFilter, SentRecord};
use model::record_page::RecordPageRequest;
use serde::Serialize;
use service::Pages;
use std::io::Write;

const RECORDS: [&str; 7] =
    ["app_id", "record_type", "record_id", "version", "updated_at", "created_at", "attributes"];
const SENT: [&str; 7] =
    ["app_id", "integration_id", "record_type", "record_id", "version", "sent_at", "attributes"];

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum What {
    /// Jobs that are not retried any more, with their failures
    DeadLetters,
    /// The catalog
    Records,
    /// What each integration last accepted
    Sent,
}

pub(super) struct Selection {
    pub(super) what: What,
    pub(super) scope: Scope,
    pub(super) integration: Option<IntegrationId>,
    pub(super) record_type: Option<String>,
}

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
    for_each(
        async |page: &PageRequest| {
            insight::store::dead_letters::list(&delivery.pool, selection.scope, &filter, *page).await
        },
        async |letter| out.row(letter, &DEAD_LETTERS),
    )
    .await
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
    for_each(
        async |page: &RecordPageRequest| delivery.records(selection.scope, filter, page).await,
        async |record| out.row(record, &RECORDS),
    )
    .await
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
    for_each(
        async |page: &PageRequest| delivery.integrations(selection.scope, filter, *page).await,
        async |integration| sent_to(delivery, selection, integration, out).await,
    )
    .await
}

async fn sent_to(
    delivery: &Delivery,
    selection: &Selection,
    &Integration { id, app_id, .. }: &Integration,
    out: &mut Writer<impl Write>,
) -> anyhow::Result<()> {
    let filter = SentFilter { record_type: selection.record_type.clone(), record_id: None };
    for_each(
        async |page: &RecordPageRequest| delivery.sent(selection.scope, id, &filter, page).await,
        async |sent| out.row(&Sent { app_id, integration_id: id, sent }, &SENT),
    )
    .await
}

/// Does something with each item of a list that is read page by page.
async fn for_each<T, P: Pages, E>(
    read: impl AsyncFn(&P) -> Result<Page<T>, E>,
    mut act: impl AsyncFnMut(&T) -> anyhow::Result<()>,
) -> anyhow::Result<()>
where
    anyhow::Error: From<E>,
{
    let mut page = P::parse(Some(MAX_LIMIT), None)?;
    loop {
        let found = read(&page).await?;
        for item in &found.items {
            act(item).await?;
        }
        let Some(cursor) = found.next_cursor else { return Ok(()) };
        page = P::parse(Some(MAX_LIMIT), Some(&cursor))?;
    }
}
