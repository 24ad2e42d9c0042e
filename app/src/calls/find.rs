//! The search of the command palette: ids, names of integrations, apps and saved views.

use super::{error::CallError, json::Json};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::{found::Found, id::IntegrationId, integration::IntegrationState};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchResults {
    /// Objects with this id.
    pub things: Vec<Found>,
    /// Integrations whose name or app name contains the text.
    pub integrations: Vec<FoundIntegration>,
    /// Saved views whose name contains the text: name, and query string of the list of jobs.
    pub views: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundIntegration {
    pub id: IntegrationId,
    pub name: String,
    pub app_name: String,
    pub state: IntegrationState,
}

/// Searches an id in the database, names in the sampler's snapshot in memory.
#[server(prefix = "/console", endpoint = "find", input = GetUrl, output = Json)]
pub async fn find(q: String) -> Result<SearchResults, CallError> {
    use crate::server::{actor, context};
    use service::permission;
    const MAX_HITS: usize = 6;
    let actor = actor::allowed::<permission::OpenConsole>()?;
    let scope = actor.scope();
    let cx = context::current()?;
    let q = q.trim();
    if q.is_empty() {
        return Ok(SearchResults::default());
    }
    if let Ok(id) = q.parse() {
        return Ok(SearchResults {
            things: insight::store::find::by_id(&cx.pool, scope, id).await?,
            ..SearchResults::default()
        });
    }
    let wanted = q.to_lowercase();
    let snapshot = cx.snapshot().await?;
    let mut integrations: Vec<_> = snapshot
        .integrations
        .iter()
        .filter(|gauge| {
            gauge.name.to_lowercase().contains(&wanted) || gauge.app_name.to_lowercase().contains(&wanted)
        })
        .map(|gauge| FoundIntegration {
            id: gauge.integration_id,
            name: gauge.name.clone(),
            app_name: gauge.app_name.clone(),
            state: gauge.state,
        })
        .collect();
    // Names that begin with the text come before those that only contain it.
    integrations.sort_by_key(|found| {
        let name = found.name.to_lowercase();
        (!name.starts_with(&wanted), name, found.app_name.to_lowercase())
    });
    integrations.truncate(MAX_HITS);
    let views = insight::store::saved_views::list(&cx.pool, actor.user_id()).await?.into_iter();
    let views = views.filter(|view| view.name.to_lowercase().contains(&wanted)).take(MAX_HITS);
    let views = views.map(|view| (view.name, view.query)).collect();
    Ok(SearchResults { things: Vec::new(), integrations, views })
}
