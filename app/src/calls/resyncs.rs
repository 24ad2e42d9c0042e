//! Re-syncs: the list; pause, resume, cancel.

use super::error::{CallError, FormRefused};
use super::json::Json;
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::{id::ResyncId, resync::ResyncStep, views::resyncs::ResyncList};

/// The re-syncs that the query string asks for.
#[server(prefix = "/console", endpoint = "resyncs", input = GetUrl, output = Json)]
pub async fn list_resyncs(query: String) -> Result<ResyncList, CallError> {
    use crate::server::{actor, context};
    use crate::state::url_filters::ListQuery;
    use service::permission;
    let actor = actor::allowed::<permission::OpenConsole>()?;
    let list = ListQuery::parse(&query).map_err(|error| CallError::Invalid(error.to_string()))?;
    Ok(context::current()?.headgate.resync_list(&actor, &list.filter, list.page).await?)
}

/// Pauses, resumes or cancels one.
#[server(prefix = "/console", endpoint = "steer-resync", output = Json)]
pub async fn steer_resync(id: ResyncId, step: ResyncStep, back: String) -> Result<(), FormRefused> {
    use crate::server::{actor, context, redirect, steps};
    use service::permission;
    redirect::answer(&back, async {
        let actor = actor::allowed::<permission::Resync>()?;
        context::current()?.headgate.steer_resync(&actor, id, step).await?;
        Ok(steps::resync_notice(step).into())
    })
    .await
}
