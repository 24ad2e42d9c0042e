//! `GET /dead-letters/export`: the list as a file, page after page, however long it is.

use super::{
    extract::{Can, Query, Read},
    masked::{askable_of_dead_letters, shown},
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

/// All dead letters that match, newest first, as CSV: for spreadsheets, with formulas made harmless; secrets read
/// `[masked]` as in the list. A file that ends early was broken off:
/// it is sent as it is read.
#[utoipa::path(get, path = "/dead-letters/export", tag = "Dead letters", params(JobFilter),
    responses((status = 200, body = String, content_type = "text/csv")))]
async fn export_dead_letters(
    actor: Can<Read>,
    State(state): State<AppState>,
    Query(filter): Query<JobFilter>,
) -> Result<Response, Problem> {
    let filter = askable_of_dead_letters(&state, &actor, &filter).await?;
    let source = Source { state, actor: (*actor).clone(), filter };
    // Read before anything is answered: a filter that is too wide is an error and not a broken file.
    let first = source.page(PageRequest { limit: AT_ONCE, after: None }).await?;
    let rows = stream::try_unfold((source, Some((first, true))), next);
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"dead-letters.csv\""),
    ];
    Ok((headers, Body::from_stream(rows)).into_response())
}

/// Letters that are read at once: each may have a megabyte.
const AT_ONCE: i64 = 50;

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

/// The page at hand as text, and the one after it.
async fn next((source, at_hand): Reading) -> Result<Option<(Bytes, Reading)>, std::io::Error> {
    let Some((page, is_first)) = at_hand else { return Ok(None) };
    let text = as_text(&page.items, is_first).map_err(std::io::Error::other)?;
    let following = match page.following(AT_ONCE) {
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
