//! Re-syncs: the list; pause, resume, cancel.

use super::{
    error::{CallError, FormRefused},
    json::Json,
};
use chrono::{DateTime, Utc};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::views::names::Names;
use model::{
    id::ResyncId,
    page::Page,
    resync::{Resync, ResyncStep},
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResyncList {
    /// Newest first.
    pub page: Page<Resync>,
    pub names: Names,
    pub as_of: DateTime<Utc>,
}

/// The re-syncs that the query string asks for.
#[server(prefix = "/console", endpoint = "resyncs", input = GetUrl, output = Json)]
pub async fn list_resyncs(query: String) -> Result<ResyncList, CallError> {
    use crate::{
        server::{actor, context},
        state::url_filters::ListQuery,
    };
    use service::permission;
    let scope = actor::allowed::<permission::OpenConsole>()?.scope();
    let list = ListQuery::parse(&query).map_err(|error| CallError::Invalid(error.to_string()))?;
    let cx = context::current()?;
    let page = cx.lists().resyncs(scope, list.filter.integration_id, list.page).await?;
    let names = cx.names(scope, page.items.iter().map(|resync| resync.integration_id), &list.filter).await?;
    Ok(ResyncList { page, names, as_of: Utc::now() })
}

/// Pauses, resumes or cancels one.
#[server(prefix = "/console", endpoint = "steer-resync", output = Json)]
pub async fn steer_resync(id: ResyncId, step: ResyncStep, back: String) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, redirect},
    };
    use service::permission;
    redirect::answer(&back, async {
        let actor = actor::allowed::<permission::Resync>()?;
        context::current()?.headgate.steer_resync(&actor, id, step).await?;
        Ok(match step {
            ResyncStep::Pause => Flash::ResyncPaused,
            ResyncStep::Resume => Flash::ResyncResumed,
            ResyncStep::Cancel => Flash::ResyncCancelled,
        }
        .into())
    })
    .await
}
