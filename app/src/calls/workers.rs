//! Workers: the processes that claim jobs, and the leader's maintenance services.

use super::{
    error::{CallError, FormRefused},
    json::Json,
};
use chrono::{DateTime, Utc};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::{id::WorkerId, worker::Worker};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkersPage {
    /// Live ones and those lost lately, latest start first.
    pub workers: Vec<Worker>,
    /// Empty while there is no leader.
    pub services: Vec<ServiceReport>,
    pub as_of: DateTime<Utc>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServiceReport {
    pub name: String,
    /// Failures since the last successful run.
    pub failures_in_a_row: u32,
    /// Whether it works, apart from passing failures.
    pub is_healthy: bool,
    /// When a run last succeeded.
    pub succeeded_at: Option<DateTime<Utc>>,
    /// How long the last run took.
    pub took_ms: i64,
}

/// All processes, and the state of maintenance.
#[server(prefix = "/console", endpoint = "workers", input = GetUrl, output = Json)]
pub async fn load_workers() -> Result<WorkersPage, CallError> {
    use crate::server::{actor, context};
    use chrono::TimeDelta;
    use service::permission;
    actor::allowed::<permission::ReadDeployment>()?;
    let cx = context::current()?;
    let workers = queue::store::workers::list(&cx.pool).await?;
    let live = cx.live.current();
    let services = live.measures.iter().flat_map(|(taken_at, measures)| {
        measures.services.iter().map(|service| ServiceReport {
            name: service.name.clone(),
            failures_in_a_row: service.failures_in_a_row,
            is_healthy: service.is_healthy,
            succeeded_at: service
                .seconds_since_success
                .map(|seconds| *taken_at - TimeDelta::milliseconds((seconds * 1_000.0) as i64)),
            took_ms: (service.took_seconds * 1_000.0) as i64,
        })
    });
    Ok(WorkersPage { workers, services: services.collect(), as_of: Utc::now() })
}

/// Stops a process from claiming jobs until it is restarted.
#[server(prefix = "/console", endpoint = "drain-worker", output = Json)]
pub async fn drain_worker(id: WorkerId, back: String) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, redirect},
    };
    use service::permission;
    redirect::answer(&back, async {
        let actor = actor::allowed::<permission::Configure>()?;
        context::current()?.headgate.drain_worker(&actor, id).await?;
        Ok(Flash::Draining.into())
    })
    .await
}
