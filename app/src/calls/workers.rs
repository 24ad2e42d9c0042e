//! Workers: the processes that claim jobs, and the leader's maintenance services.

use super::error::{CallError, FormRefused};
use super::json::Json;
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::{id::WorkerId, views::workers::WorkersPage};

/// All processes, and the state of maintenance.
#[server(prefix = "/console", endpoint = "workers", input = GetUrl, output = Json)]
pub async fn load_workers() -> Result<WorkersPage, CallError> {
    use crate::server::{actor, context};
    use service::permission;
    let actor = actor::allowed::<permission::ReadDeployment>()?;
    Ok(context::current()?.headgate.workers_page(&actor).await?)
}

/// Stops a process from claiming jobs until it is restarted.
#[server(prefix = "/console", endpoint = "drain-worker", output = Json)]
pub async fn drain_worker(id: WorkerId, back: String) -> Result<(), FormRefused> {
    use crate::components::Flash;
    use crate::server::{actor, context, redirect};
    use service::permission;
    redirect::answer(&back, async {
        let actor = actor::allowed::<permission::Configure>()?;
        context::current()?.headgate.drain_worker(&actor, id).await?;
        Ok(Flash::Draining.into())
    })
    .await
}
