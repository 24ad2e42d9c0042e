//! Apps as people name them on the command line: by slug or by id.

use anyhow::anyhow;
use delivery::{Delivery, DeliveryError};
use model::actor::Scope;
use model::app::App;
use model::id::AppId;
use model::page::{MAX_LIMIT, PageRequest};

/// The app with this slug or id, if there is one.
pub(crate) async fn find_app(delivery: &Delivery, name: &str) -> Result<Option<App>, DeliveryError> {
    if let Ok(id) = name.parse::<AppId>() {
        return match delivery.app(Scope::AllApps, id).await {
            Ok(app) => Ok(Some(app)),
            Err(DeliveryError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        };
    }
    let mut page = PageRequest { limit: MAX_LIMIT, after: None };
    loop {
        let apps = delivery.apps(Scope::AllApps, page).await?;
        page.after = apps.items.last().map(|app| app.id.0);
        if let Some(app) = apps.items.into_iter().find(|app| app.slug == name) {
            return Ok(Some(app));
        }
        if apps.next_cursor.is_none() {
            return Ok(None);
        }
    }
}

/// The same, with an error that says what to do when there is none.
pub(crate) async fn app(delivery: &Delivery, name: &str) -> anyhow::Result<App> {
    let found = find_app(delivery, name).await?;
    found.ok_or_else(|| {
        anyhow!("--app {name}: there is no app with this slug or id; create it first (POST /api/v1/apps)")
    })
}
