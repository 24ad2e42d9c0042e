//! The last hour of totals, a point a minute, for sparklines.

use chrono::{DateTime, Duration, DurationRound as _, Utc};
use model::stats::Totals;
use std::collections::VecDeque;

/// Points kept.
const MINUTES: i64 = 60;

/// Totals at the end of a minute, or at the newest moment of the one that runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HistoryPoint {
    /// When they were read.
    pub at: DateTime<Utc>,
    /// The totals.
    pub totals: Totals,
}

/// Points in order of time, one a minute.
#[derive(Debug, Default)]
pub(super) struct History {
    points: VecDeque<HistoryPoint>,
}

impl History {
    /// Adds a moment; within the same minute it takes the last one's place.
    pub(super) fn add(&mut self, at: DateTime<Utc>, totals: Totals) {
        if self.points.back().is_some_and(|last| minute(last.at) == minute(at)) {
            self.points.pop_back();
        }
        self.points.push_back(HistoryPoint { at, totals });
        while self
            .points
            .front()
            .is_some_and(|first| minute(first.at) <= minute(at) - Duration::minutes(MINUTES))
        {
            self.points.pop_front();
        }
    }

    /// All, oldest first.
    pub(super) fn points(&self) -> Vec<HistoryPoint> {
        self.points.iter().copied().collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.points.is_empty()
    }
}

fn minute(at: DateTime<Utc>) -> DateTime<Utc> {
    at.duration_trunc(Duration::minutes(1)).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_keeps_its_last_point_and_an_hour_its_sixty() {
        let mut history = History::default();
        let begin = DateTime::UNIX_EPOCH + Duration::days(1);
        for second in (0..2 * 3_600).step_by(10) {
            let totals = Totals { backlog: second, ..Totals::default() };
            history.add(begin + Duration::seconds(second), totals);
        }
        let points = history.points();
        assert_eq!(points.len(), 60);
        assert_eq!(points[0].totals.backlog, 3_650);
        assert_eq!(points[59].totals.backlog, 7_190);
        assert!(points.windows(2).all(|pair| pair[0].at < pair[1].at));
    }
}
