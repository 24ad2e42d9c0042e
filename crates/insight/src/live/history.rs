//! The last hour, a point a minute, and the same hour of yesterday: for sparklines and the comparison with yesterday.

use crate::store::stats::minutes::minute;
use chrono::{DateTime, Duration, Utc};
use model::id::IntegrationId;
use model::stats::{FlowMinute, IntegrationGauge, MinuteTotals, Snapshot};
use std::collections::VecDeque;

const MINUTES: i64 = 60;

/// Like a recorded minute, a point is the first snapshot of its minute.
#[derive(Debug, Default)]
pub(super) struct History {
    points: VecDeque<Point>,
    yesterday: Yesterday,
}

#[derive(Debug)]
struct Point {
    at: DateTime<Utc>,
    totals: MinuteTotals,
    /// Sorted by id, without integrations where nothing happened. None: only the totals of this minute are known.
    gauges: Option<Box<[(IntegrationId, KeptGauges)]>>,
}

/// The gauges of an integration that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct KeptGauges {
    backlog: i64,
    accepted: Option<i64>,
    delivered: i64,
    failed: i64,
}

impl KeptGauges {
    /// Those of an integration where nothing happened.
    const IDLE: Self = Self { backlog: 0, accepted: Some(0), delivered: 0, failed: 0 };

    fn of(gauge: &IntegrationGauge) -> Self {
        Self {
            backlog: gauge.backlog,
            accepted: gauge.accepted_per_minute,
            delivered: gauge.delivered_per_minute,
            failed: gauge.failed_per_minute,
        }
    }
}

/// The hour that ended a day ago.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Yesterday {
    /// Its totals, oldest first, without minutes that were not recorded.
    pub minutes: Vec<MinuteTotals>,
    /// The retry pyramid at its end; none when it was not recorded.
    pub retry_pyramid: Option<Vec<i64>>,
    /// The minute of today it was read for.
    pub(super) read_for: Option<DateTime<Utc>>,
}

impl History {
    /// Adds a snapshot, unless its minute has one.
    pub(super) fn add(&mut self, snapshot: &Snapshot) {
        let totals = MinuteTotals { at: snapshot.at, totals: snapshot.totals };
        self.push(totals, Some(gauges(snapshot)));
    }

    /// Loads recorded minutes: their totals, and the gauges of those that have a snapshot.
    pub(super) fn load(&mut self, totals: Vec<MinuteTotals>, snapshots: &[Snapshot]) {
        for totals in totals {
            let snapshot = snapshots.iter().find(|snapshot| minute(snapshot.at) == minute(totals.at));
            self.push(totals, snapshot.map(gauges));
        }
    }

    fn push(&mut self, totals: MinuteTotals, gauges: Option<Box<[(IntegrationId, KeptGauges)]>>) {
        let at = minute(totals.at);
        if self.points.back().is_some_and(|last| last.at >= at) {
            return;
        }
        self.points.push_back(Point { at, totals, gauges });
        while self.points.front().is_some_and(|first| first.at <= at - Duration::minutes(MINUTES)) {
            self.points.pop_front();
        }
    }

    pub(super) fn totals(&self) -> Vec<MinuteTotals> {
        self.points.iter().map(|point| point.totals).collect()
    }

    /// One integration's backlog, without minutes of which only totals are known.
    pub(super) fn backlogs(&self, id: IntegrationId) -> Vec<(DateTime<Utc>, i64)> {
        self.of(id).map(|(at, kept)| (at, kept.backlog)).collect()
    }

    /// What came in for an integration and what went out, without minutes of which only totals are known.
    pub(super) fn flow(&self, id: IntegrationId) -> Vec<FlowMinute> {
        let of =
            |(at, KeptGauges { accepted, delivered, failed, .. }): (DateTime<Utc>, KeptGauges)| FlowMinute {
                // The first snapshot of a minute counts the sixty seconds before it.
                at: at - Duration::minutes(1),
                accepted,
                delivered,
                failed,
            };
        self.of(id).map(of).collect()
    }

    fn of(&self, id: IntegrationId) -> impl Iterator<Item = (DateTime<Utc>, KeptGauges)> {
        self.points.iter().filter_map(move |point| {
            let gauges = point.gauges.as_deref()?;
            let own = gauges.binary_search_by_key(&id, |(own, _)| *own);
            Some((point.at, own.map_or(KeptGauges::IDLE, |at| gauges[at].1)))
        })
    }

    pub(super) fn yesterday(&self) -> Yesterday {
        self.yesterday.clone()
    }

    pub(super) fn set_yesterday(&mut self, yesterday: Yesterday) {
        self.yesterday = yesterday;
    }

    pub(super) fn needs_yesterday_for(&self, at: DateTime<Utc>) -> bool {
        self.yesterday.read_for != Some(minute(at))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.points.is_empty()
    }
}

/// Integrations where nothing happened, most of them, are left out: so an hour of 5,000 integrations is small.
fn gauges(snapshot: &Snapshot) -> Box<[(IntegrationId, KeptGauges)]> {
    let gauges = snapshot.integrations.iter().map(|gauge| (gauge.integration_id, KeptGauges::of(gauge)));
    let mut gauges: Vec<_> = gauges.filter(|(_, kept)| *kept != KeptGauges::IDLE).collect();
    gauges.sort_unstable_by_key(|(id, _)| *id);
    gauges.into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::stats::Totals;

    #[test]
    fn a_minute_keeps_its_first_point_and_an_hour_its_sixty() {
        let mut history = History::default();
        let start = DateTime::UNIX_EPOCH + Duration::days(1);
        for second in (0..2 * 3_600).step_by(10) {
            let at = start + Duration::seconds(second);
            let totals = Totals { backlog: second, ..Totals::default() };
            history.push(MinuteTotals { at, totals }, None);
        }
        let points = history.totals();
        assert_eq!(points.len(), 60);
        assert_eq!(points[0].totals.backlog, 3_600);
        assert_eq!(points[59].totals.backlog, 7_140);
        assert!(points.windows(2).all(|pair| pair[0].at < pair[1].at));
    }

    #[test]
    fn a_minute_with_totals_alone_is_no_zero_of_an_integration() {
        let mut history = History::default();
        let id = IntegrationId::generate();
        let start = DateTime::UNIX_EPOCH + Duration::days(1);
        let totals =
            |minutes| MinuteTotals { at: start + Duration::minutes(minutes), totals: Totals::default() };
        history.push(totals(0), None);
        history.push(totals(1), Some(Box::default()));
        let kept = KeptGauges { backlog: 7, accepted: None, delivered: 3, failed: 1 };
        history.push(totals(2), Some(Box::new([(id, kept)])));
        let minutes = |n| start + Duration::minutes(n);
        assert_eq!(history.backlogs(id), [(minutes(1), 0), (minutes(2), 7)]);
        let flow = |at, accepted, delivered, failed| FlowMinute { at, accepted, delivered, failed };
        let expected = [flow(minutes(0), Some(0), 0, 0), flow(minutes(1), None, 3, 1)];
        assert_eq!(history.flow(id), expected, "of the minute before");
    }
}
