//! The search of the command palette: ids, names of integrations, apps and saved views.

use super::{error::CallError, json::Json};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::views::find::SearchResults;

/// Searches an id, or names.
#[server(prefix = "/console", endpoint = "find", input = GetUrl, output = Json)]
pub async fn find(q: String) -> Result<SearchResults, CallError> {
    use crate::server::{actor, context};
    use service::permission;
    let actor = actor::allowed::<permission::OpenConsole>()?;
    Ok(context::current()?.headgate.find(&actor, &q).await?)
}
