//! Saved views of the list of jobs.

use super::error::{CallError, FormRefused};
use super::json::Json;
use crate::forms::ViewForm;
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::{id::SavedViewId, saved_view::SavedView};

/// The views that the reader may see, pinned ones first.
#[server(prefix = "/console", endpoint = "saved-views", input = GetUrl, output = Json)]
pub async fn list_views() -> Result<Vec<SavedView>, CallError> {
    use crate::server::{actor, context};
    use service::permission;
    let actor = actor::allowed::<permission::OpenConsole>()?;
    Ok(context::current()?.headgate.saved_views(&actor).await?)
}

/// Saves the filters of the list under a name.
#[server(prefix = "/console", endpoint = "save-view", output = Json)]
pub async fn save_view(
    #[server(default)] view: ViewForm,
    query: String,
    back: String,
) -> Result<(), FormRefused> {
    use crate::server::saved_views;
    saved_views::save(view, &query, &back).await
}

/// Changes name, visibility, pin and alert of a view.
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

/// Pins or unpins a view.
#[server(prefix = "/console", endpoint = "pin-view", output = Json)]
pub async fn pin_view(id: SavedViewId, is_pinned: bool, back: String) -> Result<(), FormRefused> {
    use crate::server::saved_views;
    saved_views::pin(id, is_pinned, &back).await
}

/// Deletes a view for everybody.
#[server(prefix = "/console", endpoint = "delete-view", output = Json)]
pub async fn delete_view(id: SavedViewId, back: String) -> Result<(), FormRefused> {
    use crate::components::Flash;
    use crate::server::{actor, context, redirect};
    use model::etag::IfMatch;
    use service::permission;
    redirect::answer(&back, async {
        let actor = actor::allowed::<permission::SaveViews>()?;
        context::current()?.headgate.delete_view(&actor, id, &IfMatch::Any).await?;
        Ok(Flash::ViewDeleted.into())
    })
    .await
}
