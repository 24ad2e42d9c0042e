//! The search of the command palette: ids, names of integrations, apps and saved views.

use crate::{Allowed, Headgate, ServiceError, permission};
use insight::store::{find, saved_views};
use model::stats::Snapshot;
use model::views::find::{FoundIntegration, SearchResults};

/// Results of each kind.
const MAX_RESULTS: usize = 6;

impl Headgate {
    /// Searches an id in the database, or names: of integrations and apps as last sampled, and of the actor's saved views.
    pub async fn find(
        &self,
        actor: &Allowed<permission::OpenConsole>,
        text: &str,
    ) -> Result<SearchResults, ServiceError> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(SearchResults::default());
        }
        if let Ok(id) = text.parse() {
            let things = find::by_id(&self.lists, actor.scope(), id).await?;
            return Ok(SearchResults { things, ..SearchResults::default() });
        }
        let wanted = text.to_lowercase();
        let integrations = integrations_named(&*self.snapshot().await?, &wanted);
        let mut views = saved_views::list(&self.lists, actor.user_id()).await?;
        views.retain(|view| view.name.to_lowercase().contains(&wanted));
        views.truncate(MAX_RESULTS);
        self.mask_views(actor, &mut views).await?;
        let views = views.into_iter().map(|view| (view.name, view.query)).collect();
        Ok(SearchResults { things: Vec::new(), integrations, views })
    }
}

/// `wanted` is in lower case.
fn integrations_named(snapshot: &Snapshot, wanted: &str) -> Vec<FoundIntegration> {
    let mut integrations: Vec<_> = snapshot
        .integrations
        .iter()
        .filter(|gauge| {
            gauge.name.to_lowercase().contains(wanted) || gauge.app_name.to_lowercase().contains(wanted)
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
        (!name.starts_with(wanted), name, found.app_name.to_lowercase())
    });
    integrations.truncate(MAX_RESULTS);
    integrations
}
