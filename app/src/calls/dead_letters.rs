//! Dead letters: the list, the grid, the bin. They are changed by bulk actions, see [`super::bulk`].

use super::error::{CallError, FormRefused};
use super::json::Json;
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::id::DeadLetterId;
use model::views::dead_letters::{Bin, DeadLetterList};

/// The dead letters that the page's query string asks for.
#[server(prefix = "/console", endpoint = "dead-letters", input = GetUrl, output = Json)]
pub async fn list_dead_letters(query: String) -> Result<DeadLetterList, CallError> {
    use crate::server::{actor, context};
    use crate::state::grid_url;
    use crate::state::url_filters::ListQuery;
    use service::permission;
    let actor = actor::allowed::<permission::OpenConsole>()?;
    let list = ListQuery::parse(&query).map_err(|error| CallError::Invalid(error.to_string()))?;
    let part = grid_url::place(&query).map_err(|error| CallError::Invalid(error.to_string()))?;
    Ok(context::current()?.headgate.dead_letter_list(&actor, &list.filter, list.page, part).await?)
}

/// The dead letters purged in the last 24 hours.
#[server(prefix = "/console", endpoint = "bin", input = GetUrl, output = Json)]
pub async fn list_bin(query: String) -> Result<Bin, CallError> {
    use crate::server::{actor, context};
    use crate::state::url_filters;
    use service::permission;
    let actor = actor::allowed::<permission::OpenConsole>()?;
    let page = url_filters::bin_page(&query).map_err(|error| CallError::Invalid(error.to_string()))?;
    Ok(context::current()?.headgate.bin(&actor, page).await?)
}

/// Undoes the purge of a dead letter.
#[server(prefix = "/console", endpoint = "restore-dead-letter", output = Json)]
pub async fn restore_dead_letter(id: DeadLetterId, back: String) -> Result<(), FormRefused> {
    use crate::components::Flash;
    use crate::server::{actor, context, redirect};
    use service::permission;
    redirect::answer(&back, async {
        let actor = actor::allowed::<permission::SteerJobs>()?;
        context::current()?.headgate.restore_dead_letter(&actor, id).await?;
        Ok(Flash::Restored.into())
    })
    .await
}
