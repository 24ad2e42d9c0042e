//! `GET /dead-letters/export`: the whole list as a file, streamed page by page.

use super::{
    extract::{Can, Query, Read},
    masked::{permitted_dead_letter_filter, shown},
    problem::Problem,
};
use crate::{
    commands::export::{DEAD_LETTERS, ExportFormat, Writer},
    state::AppState,
};
use axum::{
    body::{Body, Bytes},
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use futures::stream;
use model::{
    actor::Actor,
    dead_letter::DeadLetter,
    filter::JobFilter,
    page::{Page, PageRequest},
};
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
async fn export_dead_letters(
    actor: Can<Read>,
    State(state): State<AppState>,
    Query(filter): Query<JobFilter>,
) -> Result<Response, Problem> {
    let filter = permitted_dead_letter_filter(&state, &actor, &filter).await?;
    let source = Source { state, actor: Actor::clone(&actor), filter };
    // The first page is read before the answer begins, so that a filter that is too wide is an error and not a broken file.
    let first = source.page(PageRequest { limit: PORTION, after: None }).await?;
    let rows = stream::try_unfold((source, Some((first, true))), next);
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"dead-letters.csv\""),
    ];
    Ok((headers, Body::from_stream(rows)).into_response())
}

/// Dead letters read at once: each may have a megabyte.
const PORTION: i64 = 50;

struct Source {
    state: AppState,
    actor: Actor,
    filter: JobFilter,
}

impl Source {
    async fn page(&self, page: PageRequest) -> Result<Page<DeadLetter>, Problem> {
        let Self { state, actor, filter } = self;
        let page =
            insight::store::dead_letters::list(&state.console_pool, actor.scope(), filter, page).await?;
        shown(state, actor, page).await
    }
}

type Reading = (Source, Option<(Page<DeadLetter>, bool)>);

/// The current page as text, and the page after it.
async fn next((source, current): Reading) -> Result<Option<(Bytes, Reading)>, std::io::Error> {
    let Some((page, is_first)) = current else { return Ok(None) };
    let text = as_text(&page.items, is_first).map_err(std::io::Error::other)?;
    let following = match page.following(PORTION) {
        Some(following) => {
            let following = source.page(following).await;
            Some((following.map_err(|problem| std::io::Error::other(format!("{problem:?}")))?, false))
        }
        None => None,
    };
    Ok(Some((text, (source, following))))
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
