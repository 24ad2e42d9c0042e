//! Gauges and rollups. The gauges of the first paint come from the sampler's memory, not from the database.

use super::{error::CallError, json::Json};
use chrono::{DateTime, Utc};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::id::IntegrationId;
use model::stats::{Throughput, Window};
use model::views::overview::{Charts, NavCounts, OverviewAnswer};

/// The overview now, or at a past minute.
#[server(prefix = "/console", endpoint = "overview", input = GetUrl, output = Json)]
pub async fn load_overview(window: Window, at: Option<DateTime<Utc>>) -> Result<OverviewAnswer, CallError> {
    use crate::server::{actor, context};
    use service::permission;
    let actor = actor::allowed::<permission::OpenConsole>()?;
    Ok(context::current()?.headgate.overview(&actor, window, at).await?)
}

/// Charts, activity feed and workers alone, for their refresh.
#[server(prefix = "/console", endpoint = "charts", input = GetUrl, output = Json)]
pub async fn load_charts(window: Window) -> Result<Charts, CallError> {
    use crate::server::{actor, context};
    use service::permission;
    let actor = actor::allowed::<permission::OpenConsole>()?;
    Ok(context::current()?.headgate.charts(&actor, window).await?)
}

/// The throughput chart alone, for its refresh.
#[server(prefix = "/console", endpoint = "throughput", input = GetUrl, output = Json)]
pub async fn load_throughput(
    window: Window,
    integration_id: Option<IntegrationId>,
) -> Result<Throughput, CallError> {
    use crate::server::{actor, context};
    use service::permission;
    let actor = actor::allowed::<permission::Read>()?;
    Ok(context::current()?.headgate.throughput(&actor, integration_id, window, None).await?)
}

#[server(prefix = "/console", endpoint = "nav-counts", input = GetUrl, output = Json)]
pub async fn load_nav_counts() -> Result<NavCounts, CallError> {
    use crate::server::{actor, context};
    use service::permission;
    let actor = actor::allowed::<permission::OpenConsole>()?;
    Ok(context::current()?.headgate.nav_counts(&actor).await?)
}
