//! The overview of the console, now or at a past minute, and the counts of its navigation.

use crate::{Allowed, Headgate, ServiceError, permission, trimmed_snapshot::trim};
use access::activity;
use chrono::{DateTime, TimeDelta, Utc};
use insight::store::stats::{minutes, throughput_until};
use model::activity::{Activity, Span};
use model::page::PageRequest;
use model::rules::permission::Permission;
use model::stats::Window;
use model::views::overview::{Charts, NavCounts, NotRecorded, Overview, OverviewAnswer, Past};
use queue::store::workers;

/// Entries of the activity feed: more than the list shows, because they are marks in the charts too.
const MAX_ACTIVITY: i64 = 60;

impl Headgate {
    /// The overview now, or at a minute of the last day.
    pub async fn overview(
        &self,
        actor: &Allowed<permission::OpenConsole>,
        window: Window,
        at: Option<DateTime<Utc>>,
    ) -> Result<OverviewAnswer, ServiceError> {
        match at {
            Some(at) => self.past_overview(actor, window, minutes::minute(at)).await,
            None => self.present_overview(actor, window).await,
        }
    }

    /// Charts, activity feed, workers and alerts alone, for their refresh.
    pub async fn charts(
        &self,
        actor: &Allowed<permission::OpenConsole>,
        window: Window,
    ) -> Result<Charts, ServiceError> {
        let may_know_workers = actor.may(Permission::ReadDeployment);
        Ok(Charts {
            throughput: throughput_until(&self.lists, actor.scope(), None, window, None).await?,
            levels: minutes::levels(&self.lists, window, None).await?,
            activity: self.newest_activity(actor, Span::default()).await?,
            alerts: self.alerting_views(actor).await?,
            workers: if may_know_workers { Some(workers::list(&self.lists).await?) } else { None },
        })
    }

    /// The counts of the navigation.
    pub async fn nav_counts(
        &self,
        _actor: &Allowed<permission::OpenConsole>,
    ) -> Result<NavCounts, ServiceError> {
        Ok(NavCounts::from(&*self.snapshot().await?))
    }

    async fn present_overview(
        &self,
        actor: &Allowed<permission::OpenConsole>,
        window: Window,
    ) -> Result<OverviewAnswer, ServiceError> {
        let yesterday = self.live.yesterday();
        let (snapshot, left_out) = trim(&*self.snapshot().await?);
        Ok(OverviewAnswer::Shown(Box::new(Overview {
            snapshot,
            left_out,
            past: Past {
                hour: self.live.history(),
                yesterday: yesterday.minutes,
                yesterdays_pyramid: yesterday.retry_pyramid,
            },
            charts: self.charts(actor, window).await?,
            at: None,
            now: Utc::now(),
        })))
    }

    async fn past_overview(
        &self,
        actor: &Allowed<permission::OpenConsole>,
        window: Window,
        at: DateTime<Utc>,
    ) -> Result<OverviewAnswer, ServiceError> {
        let now = Utc::now();
        let moment = match self.recorded(at).await? {
            Ok(moment) => moment,
            Err(NotRecorded { nearest }) => return Ok(OverviewAnswer::NotRecorded { at, nearest, now }),
        };
        let (hour, day, until) = (TimeDelta::hours(1), TimeDelta::days(1), Some(moment.snapshot.at));
        let (snapshot, left_out) = trim(&moment.snapshot);
        let pool = &self.lists;
        Ok(OverviewAnswer::Shown(Box::new(Overview {
            past: Past {
                hour: minutes::totals(pool, at - hour, at).await?,
                yesterday: minutes::totals(pool, at - day - hour, at - day).await?,
                yesterdays_pyramid: minutes::retry_pyramid(pool, at - day).await?,
            },
            charts: Charts {
                throughput: throughput_until(pool, actor.scope(), None, window, until).await?,
                levels: minutes::levels(pool, window, until).await?,
                activity: self.newest_activity(actor, Span { from: None, until }).await?,
                workers: actor.may(Permission::ReadDeployment).then_some(moment.workers),
                // When a view alerted is not recorded.
                alerts: Vec::new(),
            },
            snapshot,
            left_out,
            at: Some(at),
            now,
        })))
    }

    async fn newest_activity(
        &self,
        actor: &Allowed<permission::OpenConsole>,
        span: Span,
    ) -> Result<Vec<Activity>, ServiceError> {
        let newest = PageRequest { limit: MAX_ACTIVITY, after: None };
        let page = activity::list(&self.lists, actor.scope(), span, newest).await?;
        Ok(self.shown(actor, page).await?.items)
    }
}
