//! Gauges and rollups. The first paint reads the sampler's memory, not the database.

use super::error::CallError;
use chrono::{DateTime, Utc};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::{
    id::IntegrationId,
    stats::{Snapshot, Throughput, Totals, Window},
};
use serde::{Deserialize, Serialize};

/// The first paint of the overview.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overview {
    /// The newest gauges.
    pub snapshot: Snapshot,
    /// The chart.
    pub throughput: Throughput,
    /// The last hour, a point a minute, oldest first.
    pub history: Vec<(DateTime<Utc>, Totals)>,
}

/// All the overview shows.
#[server(prefix = "/console", endpoint = "overview", input = GetUrl)]
pub async fn load_overview(window: Window) -> Result<Overview, CallError> {
    use crate::server::{actor, context};
    use model::rules::permission::Permission;
    let actor = actor::allowed(Permission::OpenConsole)?;
    let cx = context::current()?;
    let snapshot = cx.snapshot().await?;
    let throughput = queue::store::stats::throughput(&cx.pool, actor.scope(), None, window).await?;
    let history = cx.live.history().into_iter().map(|point| (point.at, point.totals)).collect();
    Ok(Overview { snapshot, throughput, history })
}

/// The chart alone, to keep it moving.
#[server(prefix = "/console", endpoint = "throughput", input = GetUrl)]
pub async fn load_throughput(
    window: Window,
    integration_id: Option<IntegrationId>,
) -> Result<Throughput, CallError> {
    use crate::server::{actor, context};
    use model::rules::permission::Permission;
    let actor = actor::allowed(Permission::OpenConsole)?;
    let cx = context::current()?;
    Ok(queue::store::stats::throughput(&cx.pool, actor.scope(), integration_id, window).await?)
}

/// The gauges alone: names and counts for navigation and filters.
#[server(prefix = "/console", endpoint = "gauges", input = GetUrl)]
pub async fn load_gauges() -> Result<Snapshot, CallError> {
    use crate::server::{actor, context};
    use model::rules::permission::Permission;
    actor::allowed(Permission::OpenConsole)?;
    context::current()?.snapshot().await
}
