//! Saved views of the list of jobs.

use super::{
    error::{CallError, FormRefused},
    json::Json,
};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::{id::SavedViewId, saved_view::SavedView};
use serde::{Deserialize, Serialize};

/// All that the reader may see, pinned ones first.
#[server(prefix = "/console", endpoint = "saved-views", input = GetUrl, output = Json)]
pub async fn list_views() -> Result<Vec<SavedView>, CallError> {
    use crate::server::{actor, context, saved_views};
    use model::rules::permission::Permission;
    let actor = actor::allowed(Permission::OpenConsole)?;
    let cx = context::current()?;
    let views = queue::store::saved_views::list(&cx.pool, actor.user_id()).await?;
    Ok(saved_views::shown(&cx.delivery, &actor, views).await?)
}

/// What is asked of a view, as it was typed: an empty threshold is none, a tick that is not there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ViewForm {
    /// What it is called.
    pub name: String,
    /// `true`: everybody sees it.
    pub shared: String,
    /// `true`: its reader has it pinned.
    pub pinned: String,
    /// From how many jobs on it alerts.
    pub alert_at: String,
}

/// Saves what the list is narrowed to under a name.
#[server(prefix = "/console", endpoint = "save-view", output = Json)]
pub async fn save_view(
    #[server(default)] view: ViewForm,
    query: String,
    back: String,
) -> Result<(), FormRefused> {
    use crate::server::saved_views;
    saved_views::save(view, &query, &back).await
}

/// Changes what a view is called, who sees it, and when it alerts.
#[server(prefix = "/console", endpoint = "change-view", output = Json)]
pub async fn change_view(
    id: SavedViewId,
    #[server(default)] view: ViewForm,
    #[server(default)] etag: String,
    #[server(default)] drawn: String,
    back: String,
) -> Result<(), FormRefused> {
    use crate::server::saved_views::{self, Shown};
    saved_views::change(id, view, Shown { etag: &etag, drawn: &drawn }, &back).await
}

/// Pins a view, or takes the pin away.
#[server(prefix = "/console", endpoint = "pin-view", output = Json)]
pub async fn pin_view(id: SavedViewId, is_pinned: bool, back: String) -> Result<(), FormRefused> {
    use crate::server::saved_views;
    saved_views::pin(id, is_pinned, &back).await
}

/// Deletes a view for everybody.
#[server(prefix = "/console", endpoint = "delete-view", output = Json)]
pub async fn delete_view(id: SavedViewId, back: String) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, redirect},
    };
    use model::{etag::IfMatch, rules::permission::Permission};
    redirect::answer(&back, async {
        let actor = actor::allowed(Permission::SaveViews)?;
        context::current()?.steering().delete_view(&actor, id, &IfMatch::Any).await?;
        Ok(Flash::ViewDeleted.into())
    })
    .await
}
