//! Gauges and rollups. The first paint reads the sampler's memory, not the database.

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

/// What is asked for may not be there to be shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum OverviewAnswer {
    /// It is.
    Shown(Box<Overview>),
    /// A minute that is kept no more, is yet to come, or that nobody recorded.
    NotRecorded {
        /// That minute.
        at: DateTime<Utc>,
        /// The nearest one that can be asked for.
        nearest: Option<DateTime<Utc>>,
        /// The moment of this answer.
        now: DateTime<Utc>,
    },
    /// The address names no moment.
    Unreadable(String),
}

/// The first paint of the overview.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overview {
    /// The gauges: the newest, or those of a minute that is over.
    pub snapshot: Snapshot,
    /// What its integrations leave out.
    pub left_out: LeftOut,
    /// The sparklines and their ghosts.
    pub past: Past,
    /// The charts.
    pub charts: Charts,
    /// The minute that was asked for, where one was.
    pub at: Option<DateTime<Utc>>,
    /// The moment of this answer.
    pub now: DateTime<Utc>,
}

/// Integrations that do not travel with a page of thousands, in sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// How many.
    pub integrations: usize,
    /// How many of them need attention.
    pub needing_attention: usize,
    /// Jobs that they may process at once.
    pub slots: i64,
    /// Until nothing is left at any of them; none where nothing can be estimated.
    pub eta_seconds: Option<i64>,
}

/// What the navigation counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NavCounts {
    /// Integrations.
    pub integrations: i64,
    /// Processes that claim jobs.
    pub workers: i64,
    /// Open groups of failures.
    pub failures: i64,
    /// Jobs given up.
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

/// The hour before a moment, and the same hour a day before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Past {
    /// A point a minute, oldest first; minutes that nobody recorded are left out.
    pub hour: Vec<MinuteTotals>,
    /// A day before.
    pub yesterday: Vec<MinuteTotals>,
    /// The retry pyramid of a day before; none when nothing was recorded then.
    pub yesterdays_pyramid: Option<Vec<i64>>,
}

/// What the charts of the overview show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Charts {
    /// What was done.
    pub throughput: Throughput,
    /// What stood where.
    pub levels: Levels,
    /// What happened, newest first.
    pub activity: Vec<Activity>,
    /// Processes, for those who may know of them.
    pub workers: Option<Vec<Worker>>,
    /// Saved views at their threshold: shared ones, and the reader's.
    pub alerts: Vec<SavedView>,
}

/// Things of the feed that travel with the charts: more than the list shows, because they are marks too.
pub const ACTIVITY: i64 = 60;

/// All the overview shows: now, or as it was at a minute.
#[server(prefix = "/console", endpoint = "overview", input = GetUrl, output = Json)]
pub async fn load_overview(window: Window, at: Option<DateTime<Utc>>) -> Result<OverviewAnswer, CallError> {
    use crate::server::{actor, context};
    use model::rules::permission::Permission;
    let actor = actor::allowed(Permission::OpenConsole)?;
    let cx = context::current()?;
    match at {
        Some(at) => crate::server::past::overview(&cx, &actor, window, at).await,
        None => {
            let yesterday = cx.live.yesterday();
            let (snapshot, left_out) = crate::server::glance::glance(&*cx.snapshot().await?);
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

/// The charts, the feed and the processes alone, to keep them moving.
#[server(prefix = "/console", endpoint = "charts", input = GetUrl, output = Json)]
pub async fn load_charts(window: Window) -> Result<Charts, CallError> {
    use crate::server::{actor, context};
    use access::activity::{self, Span};
    use model::{page::PageRequest, rules::permission::Permission};
    use queue::store::{saved_views, stats, workers};
    let actor = actor::allowed(Permission::OpenConsole)?;
    let cx = context::current()?;
    let newest = PageRequest { limit: ACTIVITY, after: None };
    let alerts = saved_views::alerting(&cx.pool, actor.user_id()).await?;
    let alerts = crate::server::saved_views::shown(&cx.delivery, &actor, alerts).await?;
    let may_know_workers = model::rules::permission::is_allowed(actor.role, Permission::ReadDeployment);
    Ok(Charts {
        throughput: stats::throughput(&cx.pool, actor.scope(), None, window).await?,
        levels: stats::minutes::levels(&cx.pool, window, None).await?,
        activity: activity::list(&cx.pool, actor.scope(), Span::default(), newest).await?.items,
        alerts: alerts.into_iter().filter(|view| view.alerting_since.is_some()).collect(),
        workers: if may_know_workers { Some(workers::list(&cx.pool).await?) } else { None },
    })
}

/// The chart alone, to keep it moving.
#[server(prefix = "/console", endpoint = "throughput", input = GetUrl, output = Json)]
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

/// What stands in the navigation.
#[server(prefix = "/console", endpoint = "nav-counts", input = GetUrl, output = Json)]
pub async fn load_nav_counts() -> Result<NavCounts, CallError> {
    use crate::server::{actor, context};
    use model::rules::permission::Permission;
    actor::allowed(Permission::OpenConsole)?;
    Ok(NavCounts::from(&*context::current()?.snapshot().await?))
}
