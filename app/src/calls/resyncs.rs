//! Re-syncs: the list; pause, resume, cancel.

use super::{error::CallError, names::Names};
use chrono::{DateTime, Utc};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::{id::ResyncId, page::Page, resync::Resync};
use serde::{Deserialize, Serialize};

/// One page of re-syncs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResyncList {
    /// Newest first.
    pub page: Page<Resync>,
    /// What their integrations are called.
    pub names: Names,
    /// The moment of the list.
    pub as_of: DateTime<Utc>,
}

/// The re-syncs an address asks for.
#[server(prefix = "/console", endpoint = "resyncs", input = GetUrl)]
pub async fn list_resyncs(query: String) -> Result<ResyncList, CallError> {
    use crate::{
        server::{actor, context},
        state::url_filters::ListQuery,
    };
    use model::rules::permission::Permission;
    let scope = actor::allowed(Permission::OpenConsole)?.scope();
    let list = ListQuery::parse(&query).map_err(|error| CallError::Invalid(error.to_string()))?;
    let cx = context::current()?;
    let page = cx.delivery.resyncs(scope, list.filter.integration_id, list.page).await?;
    let names = cx.names(scope, page.items.iter().map(|resync| resync.integration_id), &list.filter).await?;
    Ok(ResyncList { page, names, as_of: Utc::now() })
}

/// What a button of the list does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResyncStep {
    /// Makes no further jobs.
    Pause,
    /// Goes on.
    Resume,
    /// Calls it off with its waiting jobs.
    Cancel,
}

impl ResyncStep {
    /// As a form field says it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Cancel => "cancel",
        }
    }
}

/// Pauses, resumes or cancels one.
#[server(prefix = "/console", endpoint = "steer-resync")]
pub async fn steer_resync(id: ResyncId, step: ResyncStep, back: String) -> Result<(), CallError> {
    use crate::{
        components::Flash,
        server::{actor, redirect, steer},
    };
    use model::rules::permission::Permission;
    redirect::answer(&back, async {
        let actor = actor::allowed(Permission::Resync)?;
        steer::steer_resync(&actor, id, step).await?;
        Ok(match step {
            ResyncStep::Pause => Flash::ResyncPaused,
            ResyncStep::Resume => Flash::ResyncResumed,
            ResyncStep::Cancel => Flash::ResyncCancelled,
        }
        .into())
    })
    .await
}
