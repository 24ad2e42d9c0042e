//! Dead letters: the list, the grid, the bin. They are changed by bulk actions, see [`super::jobs::bulk`].

use super::{
    error::{CallError, FormRefused},
    json::Json,
};
use chrono::{DateTime, Utc};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::views::choices::Choices;
use model::views::names::Names;
use model::{
    dead_letter::{BinnedLetter, DeadLetter},
    dead_letter_grid::DeadLetterGrid,
    id::DeadLetterId,
    page::Page,
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeadLetterList {
    /// Newest first.
    pub page: Page<DeadLetter>,
    /// How many match, by integration and cause; none when counting took too long.
    pub grid: Option<DeadLetterGrid>,
    pub names: Names,
    pub choices: Choices,
    pub as_of: DateTime<Utc>,
}

/// The dead letters that the page's query string asks for.
#[server(prefix = "/console", endpoint = "dead-letters", input = GetUrl, output = Json)]
pub async fn list_dead_letters(query: String) -> Result<DeadLetterList, CallError> {
    use crate::{
        server::{actor, context},
        state::{grid_url, url_filters::ListQuery},
    };
    use service::permission;
    let actor = actor::allowed::<permission::OpenConsole>()?;
    let scope = actor.scope();
    let mut list = ListQuery::parse(&query).map_err(|error| CallError::Invalid(error.to_string()))?;
    let place = grid_url::place(&query).map_err(|error| CallError::Invalid(error.to_string()))?;
    let cx = context::current()?;
    list.filter = cx.delivery.filter_for(&actor, &list.filter, "payload.").await?;
    let page =
        insight::store::dead_letters::list_without_payloads(&cx.pool, scope, &list.filter, list.page).await?;
    let (page, _) = cx.delivery.masked(page).await?;
    let grid = insight::store::dead_letters::grid(&cx.pool, scope, &list.filter, place).await?;
    let grid = match grid {
        Some(grid) => Some(cx.delivery.masked(grid).await?.0),
        None => None,
    };
    let in_grid: Vec<_> = grid.iter().flat_map(DeadLetterGrid::integrations).collect();
    let rows = page.items.iter().map(|letter| letter.integration_id).chain(in_grid);
    let names = cx.names(scope, rows, &list.filter).await?;
    let choices = cx.choices(list.filter.app_id, list.filter.integration_id).await?;
    Ok(DeadLetterList { page, grid, names, choices, as_of: Utc::now() })
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// Last purged first.
    pub page: Page<BinnedLetter>,
    pub names: Names,
    pub as_of: DateTime<Utc>,
}

/// The dead letters purged in the last 24 hours.
#[server(prefix = "/console", endpoint = "bin", input = GetUrl, output = Json)]
pub async fn list_bin(query: String) -> Result<Bin, CallError> {
    use crate::{
        server::{actor, context},
        state::url_filters,
    };
    use model::filter::JobFilter;
    use service::permission;
    let scope = actor::allowed::<permission::OpenConsole>()?.scope();
    let page = url_filters::bin_page(&query).map_err(|error| CallError::Invalid(error.to_string()))?;
    let cx = context::current()?;
    let mut page = insight::store::dead_letters::binned(&cx.pool, scope, page).await?;
    page.items.iter_mut().for_each(|binned| binned.letter.payload = None);
    let (page, _) = cx.delivery.masked(page).await?;
    let rows = page.items.iter().map(|binned| binned.letter.integration_id);
    let names = cx.names(scope, rows, &JobFilter::default()).await?;
    Ok(Bin { page, names, as_of: Utc::now() })
}

/// Undoes the purge of a dead letter.
#[server(prefix = "/console", endpoint = "restore-dead-letter", output = Json)]
pub async fn restore_dead_letter(id: DeadLetterId, back: String) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, redirect},
    };
    use service::permission;
    redirect::answer(&back, async {
        let actor = actor::allowed::<permission::SteerJobs>()?;
        context::current()?.headgate.restore_dead_letter(&actor, id).await?;
        Ok(Flash::Restored.into())
    })
    .await
}
