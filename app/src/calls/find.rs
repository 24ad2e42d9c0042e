//! Jumping to what is meant: ids, names of integrations and customers.

use super::{error::CallError, json::Json};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::{found::Found, id::IntegrationId, integration::IntegrationState};
use serde::{Deserialize, Serialize};

/// What a few typed letters may mean.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Finds {
    /// What has this id.
    pub things: Vec<Found>,
    /// Integrations whose name, or whose customer's, contains it.
    pub integrations: Vec<FoundIntegration>,
    /// Saved views whose name contains it: name, and the query string of the list of jobs.
    pub views: Vec<(String, String)>,
}

/// An integration by its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundIntegration {
    /// Which.
    pub id: IntegrationId,
    /// Its name.
    pub name: String,
    /// Its customer's.
    pub app_name: String,
    /// Whether its jobs run.
    pub state: IntegrationState,
}

/// Looks for it: an id in the database, names in the sampler's memory.
#[server(prefix = "/console", endpoint = "find", input = GetUrl, output = Json)]
pub async fn find(q: String) -> Result<Finds, CallError> {
    use crate::server::{actor, context};
    use model::rules::permission::Permission;
    const MOST: usize = 6;
    let actor = actor::allowed(Permission::OpenConsole)?;
    let scope = actor.scope();
    let cx = context::current()?;
    let q = q.trim();
    if q.is_empty() {
        return Ok(Finds::default());
    }
    if let Ok(id) = q.parse() {
        return Ok(Finds {
            things: queue::store::find::by_id(&cx.pool, scope, id).await?,
            ..Finds::default()
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
    // What begins with it is meant before what only contains it.
    integrations.sort_by_key(|found| {
        let name = found.name.to_lowercase();
        (!name.starts_with(&wanted), name, found.app_name.to_lowercase())
    });
    integrations.truncate(MOST);
    let views = queue::store::saved_views::list(&cx.pool, actor.user_id()).await?.into_iter();
    let views = views.filter(|view| view.name.to_lowercase().contains(&wanted)).take(MOST);
    let views = views.map(|view| (view.name, view.query)).collect();
    Ok(Finds { things: Vec::new(), integrations, views })
}
