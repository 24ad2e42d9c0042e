//! The overview: gauges, charts and the feed, now or at a past minute; and the counts of the navigation.

use crate::activity::Activity;
use crate::saved_view::SavedView;
use crate::stats::{Levels, MinuteTotals, Snapshot, Throughput};
use crate::worker::Worker;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// The overview, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum OverviewAnswer {
    /// The overview.
    Shown(Box<Overview>),
    /// A minute that is no longer kept, is in the future, or was not recorded.
    NotRecorded {
        /// The minute that was asked for.
        at: DateTime<Utc>,
        /// The nearest recorded minute.
        nearest: Option<DateTime<Utc>>,
        /// The time of the answer.
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
    /// What the page refreshes apart from the gauges.
    pub charts: Charts,
    /// The past minute that was asked for.
    pub at: Option<DateTime<Utc>>,
    /// The time of the answer.
    pub now: DateTime<Utc>,
}

/// Totals of the integrations that a page of thousands is not sent with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// How many they are.
    pub integrations: usize,
    /// How many of them need attention.
    pub needing_attention: usize,
    /// Until the last of those with an estimate has no backlog.
    pub eta_seconds: Option<i64>,
    /// How many have waiting jobs and no estimate.
    pub without_eta: usize,
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

/// Charts, activity feed, workers and alerts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Charts {
    /// Of all integrations.
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

/// A minute that has no snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotRecorded {
    /// The nearest recorded minute; none before the first.
    pub nearest: Option<DateTime<Utc>>,
}

/// The counts in the navigation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NavCounts {
    /// All integrations.
    pub integrations: i64,
    /// Live worker processes.
    pub workers: i64,
    /// Open failure groups.
    pub failures: i64,
    /// Of all integrations.
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
