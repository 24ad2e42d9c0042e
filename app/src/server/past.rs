//! The overview at a past minute, from what was recorded then.

use super::{context::ConsoleContext, trimmed_snapshot::trim};
use crate::calls::{
    error::CallError,
    stats::{ACTIVITY, Charts, Overview, OverviewAnswer, Past},
};
use access::activity::{self, Span};
use chrono::{DateTime, TimeDelta, Utc};
use insight::store::stats::{self, minutes};
use model::{
    actor::Actor,
    page::PageRequest,
    rules::permission::{Permission, is_allowed},
    stats::Window,
};

/// The overview at a minute of the last day.
pub async fn overview(
    cx: &ConsoleContext,
    actor: &Actor,
    window: Window,
    at: DateTime<Utc>,
) -> Result<OverviewAnswer, CallError> {
    let (at, now, pool) = (minutes::minute(at), Utc::now(), &cx.pool);
    let recorded = minutes::moment(pool, at).await?.filter(|_| now - at <= minutes::KEPT);
    let Some(moment) = recorded else {
        return Ok(OverviewAnswer::NotRecorded { at, nearest: minutes::nearest(pool, at).await?, now });
    };
    let (hour, day) = (TimeDelta::hours(1), TimeDelta::days(1));
    let until = moment.snapshot.at;
    let (snapshot, left_out) = trim(&moment.snapshot);
    let newest = PageRequest { limit: ACTIVITY, after: None };
    let span = Span { from: None, until: Some(until) };
    let may_know_workers = is_allowed(actor.role, Permission::ReadDeployment);
    Ok(OverviewAnswer::Shown(Box::new(Overview {
        past: Past {
            hour: minutes::totals(pool, at - hour, at).await?,
            yesterday: minutes::totals(pool, at - day - hour, at - day).await?,
            yesterdays_pyramid: minutes::retry_pyramid(pool, at - day).await?,
        },
        charts: Charts {
            throughput: stats::throughput_until(pool, actor.scope(), None, window, Some(until)).await?,
            levels: minutes::levels(pool, window, Some(until)).await?,
            activity: activity::list(pool, actor.scope(), span, newest).await?.items,
            workers: may_know_workers.then_some(moment.workers),
            // When a view alerted is not recorded.
            alerts: Vec::new(),
        },
        snapshot,
        left_out,
        at: Some(at),
        now,
    })))
}
