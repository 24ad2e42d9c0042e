//! Gauges and rollups. The gauges of the first paint come from the sampler's memory, not from the database.

use super::{error::CallError, json::Json};
use chrono::{DateTime, Utc};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::{
    activity::Activity,
    id::IntegrationId,
    saved_view::SavedView,
    stats::{Levels, MinuteTotals, Snapshot, Throughput, Window},
    worker::Worker,
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum OverviewAnswer {
    Shown(Box<Overview>),
    /// A minute that is no longer kept, is in the future, or was not recorded.
    NotRecorded {
        at: DateTime<Utc>,
        /// The nearest recorded minute.
        nearest: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    },
    /// The address has no readable time.
    Unreadable(String),
}

/// The first paint of the overview.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overview {
    /// The newest gauges, or those of a past minute.
    pub snapshot: Snapshot,
    /// The integrations that `snapshot` leaves out.
    pub left_out: LeftOut,
    /// The sparklines, with those of a day before.
    pub past: Past,
    pub charts: Charts,
    /// The past minute that was asked for.
    pub at: Option<DateTime<Utc>>,
    pub now: DateTime<Utc>,
}

/// Totals of the integrations that a page of thousands is not sent with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub integrations: usize,
    pub needing_attention: usize,
    /// Sum of their `max_concurrency`.
    pub slots: i64,
    /// Until the last of them has no backlog; none when it cannot be estimated.
    pub eta_seconds: Option<i64>,
}

/// The counts in the navigation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NavCounts {
    pub integrations: i64,
    pub workers: i64,
    /// Open failure groups.
    pub failures: i64,
    pub dead_letters: i64,
}

impl From<&Snapshot> for NavCounts {
    fn from(snapshot: &Snapshot) -> Self {
        Self {
            integrations: snapshot.integrations.len() as i64,
            workers: snapshot.workers,
            failures: snapshot.failures.open.unwrap_or(0),
            dead_letters: snapshot.totals.dead_letters,
        }
    }
}

/// The hour before a time, and the same hour a day before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Past {
    /// A point a minute, oldest first; minutes that were not recorded are left out.
    pub hour: Vec<MinuteTotals>,
    /// The same hour a day before.
    pub yesterday: Vec<MinuteTotals>,
    /// The retry pyramid of a day before; none when nothing was recorded then.
    pub yesterdays_pyramid: Option<Vec<i64>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Charts {
    pub throughput: Throughput,
    /// How many jobs were in each state.
    pub levels: Levels,
    /// What happened, newest first.
    pub activity: Vec<Activity>,
    /// None when the reader may not see the deployment.
    pub workers: Option<Vec<Worker>>,
    /// Saved views that alert: shared ones and the reader's own.
    pub alerts: Vec<SavedView>,
}

/// Entries of the activity feed that are loaded: more than the list shows, because they are marks in the charts too.
pub const ACTIVITY: i64 = 60;

/// The overview now, or at a past minute.
#[server(prefix = "/console", endpoint = "overview", input = GetUrl, output = Json)]
pub async fn load_overview(window: Window, at: Option<DateTime<Utc>>) -> Result<OverviewAnswer, CallError> {
    use crate::server::{actor, context};
    use service::permission;
    let actor = actor::allowed::<permission::OpenConsole>()?;
    let cx = context::current()?;
    match at {
        Some(at) => crate::server::past::overview(&cx, &actor, window, at).await,
        None => {
            let yesterday = cx.live.yesterday();
            let (snapshot, left_out) = crate::server::trimmed_snapshot::trim(&*cx.snapshot().await?);
            Ok(OverviewAnswer::Shown(Box::new(Overview {
                snapshot,
                left_out,
                past: Past {
                    hour: cx.live.history(),
                    yesterday: yesterday.minutes,
                    yesterdays_pyramid: yesterday.retry_pyramid,
                },
                charts: load_charts(window).await?,
                at: None,
                now: Utc::now(),
            })))
        }
    }
}

/// Charts, activity feed and workers alone, for their refresh.
#[server(prefix = "/console", endpoint = "charts", input = GetUrl, output = Json)]
pub async fn load_charts(window: Window) -> Result<Charts, CallError> {
    use crate::server::{actor, context};
    use access::activity::{self, Span};
    use insight::store::stats;
    use model::{page::PageRequest, rules::permission::Permission};
    use queue::store::workers;
    use service::permission;
    let actor = actor::allowed::<permission::OpenConsole>()?;
    let cx = context::current()?;
    let newest = PageRequest { limit: ACTIVITY, after: None };
    let may_know_workers = model::rules::permission::is_allowed(actor.role, Permission::ReadDeployment);
    Ok(Charts {
        throughput: stats::throughput(&cx.pool, actor.scope(), None, window).await?,
        levels: stats::minutes::levels(&cx.pool, window, None).await?,
        activity: activity::list(&cx.pool, actor.scope(), Span::default(), newest).await?.items,
        alerts: cx.headgate.alerting_views(&actor).await?,
        workers: if may_know_workers { Some(workers::list(&cx.pool).await?) } else { None },
    })
}

/// The throughput chart alone, for its refresh.
#[server(prefix = "/console", endpoint = "throughput", input = GetUrl, output = Json)]
pub async fn load_throughput(
    window: Window,
    integration_id: Option<IntegrationId>,
) -> Result<Throughput, CallError> {
    use crate::server::{actor, context};
    use service::permission;
    let actor = actor::allowed::<permission::OpenConsole>()?;
    let cx = context::current()?;
    Ok(insight::store::stats::throughput(&cx.pool, actor.scope(), integration_id, window).await?)
}

#[server(prefix = "/console", endpoint = "nav-counts", input = GetUrl, output = Json)]
pub async fn load_nav_counts() -> Result<NavCounts, CallError> {
    use crate::server::{actor, context};
    use service::permission;
    actor::allowed::<permission::OpenConsole>()?;
    Ok(NavCounts::from(&*context::current()?.snapshot().await?))
}
