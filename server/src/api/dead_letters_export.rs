//! `GET /dead-letters/export`: the whole list as a file, streamed page by page.

use super::extract::{Can, Query, Read};
use super::problem::Problem;
use crate::export_format::{DEAD_LETTERS, ExportFormat, Writer};
use crate::state::AppState;
use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::stream;
use model::{dead_letter::DeadLetter, filter::JobFilter};
use service::DeadLetterExport;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(export_dead_letters))
}

/// Exports all dead letters that match as CSV, newest first.
///
/// Meant for spreadsheets: formulas are made harmless. Secrets read `[masked]` as in the list. The file is sent while it is read, so one that ends
/// early was cut off by an error.
#[utoipa::path(get, path = "/dead-letters/export", tag = "Dead letters", params(JobFilter),
    responses((status = 200, body = String, content_type = "text/csv")))]
async fn export_dead_letters(can: Can<Read>, Query(filter): Query<JobFilter>) -> Result<Response, Problem> {
    let export = can.headgate.export_dead_letters(&can, &filter).await?;
    let rows = stream::try_unfold((export, true), next);
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"dead-letters.csv\""),
    ];
    Ok((headers, Body::from_stream(rows)).into_response())
}

/// The rest of an export, and whether it is the whole.
type Reading = (DeadLetterExport, bool);

/// The next portion as text.
async fn next((mut export, is_first): Reading) -> Result<Option<(Bytes, Reading)>, std::io::Error> {
    let Some(letters) = export.next().await.map_err(std::io::Error::other)? else { return Ok(None) };
    let text = as_text(&letters, is_first).map_err(std::io::Error::other)?;
    Ok(Some((text, (export, false))))
}

fn as_text(letters: &[DeadLetter], is_first: bool) -> anyhow::Result<Bytes> {
    let mut text = Vec::new();
    let mut writer = Writer::new(&mut text, ExportFormat::Csv);
    if is_first {
        writer.names(&DEAD_LETTERS)?;
    }
    for letter in letters {
        writer.row(letter, &DEAD_LETTERS)?;
    }
    writer.finish()?;
    Ok(text.into())
}
