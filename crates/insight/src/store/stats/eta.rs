//! When a backlog will be cleared: an honest estimate, or none.
//!
//! The pace is the net one: by how much the outstanding jobs became fewer since their peak within the last two minutes. While
//! more arrive than are done there is no estimate. A rate limit bounds the estimate from below. Where no pace could be measured yet (the first
//! seconds of some work, or while more arrive) the limit alone gives the best case.

use chrono::{DateTime, Duration, Utc};
use model::id::IntegrationId;
use std::collections::{HashMap, VecDeque};

/// The period in which the pace is measured.
const WINDOW_SECONDS: i64 = 120;
/// The interval between stored levels: a finer one would not improve the estimate.
const STEP_SECONDS: i64 = 5;
/// A shorter period gives no pace.
const MIN_SECONDS: f64 = 10.0;

/// What an estimate is based on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pace {
    /// Jobs still to be done.
    pub outstanding: i64,
    /// The most outstanding jobs lately, and how many seconds ago. None: not observed yet.
    pub peak: Option<(i64, f64)>,
    /// Jobs that ended in the last 60 seconds: the pace while there is no peak.
    pub ended_per_minute: i64,
    /// Requests a second that the limit allows.
    pub limit_per_second: Option<f64>,
}

/// Seconds until nothing is outstanding.
#[must_use]
pub fn eta_seconds(pace: Pace) -> Option<i64> {
    if pace.outstanding <= 0 {
        return Some(0);
    }
    let outstanding = pace.outstanding as f64;
    let per_second = match pace.peak {
        Some((peak, seconds)) if seconds >= MIN_SECONDS => (peak - pace.outstanding) as f64 / seconds,
        Some(_) => 0.0,
        None => pace.ended_per_minute as f64 / 60.0,
    };
    let by_limit = pace.limit_per_second.filter(|limit| *limit > 0.0).map(|limit| outstanding / limit);
    let is_measured = pace.peak.is_some_and(|(_, seconds)| seconds >= MIN_SECONDS);
    let seconds = if per_second > 0.0 {
        (outstanding / per_second).max(by_limit.unwrap_or(0.0)).ceil()
    } else if is_measured {
        // The backlog does not shrink.
        return None;
    } else {
        by_limit?.ceil()
    };
    // More than ten years is no estimate.
    (seconds < 315_360_000.0).then_some(seconds as i64)
}

/// Outstanding jobs of the last two minutes by integration, which the sampler remembers.
#[derive(Debug, Default)]
pub struct Levels {
    seen: VecDeque<(DateTime<Utc>, HashMap<IntegrationId, i64>)>,
}

impl Levels {
    /// Adds the levels of a moment.
    pub fn remember(&mut self, at: DateTime<Utc>, outstanding: HashMap<IntegrationId, i64>) {
        if self.seen.back().is_some_and(|(last, _)| at - *last < Duration::seconds(STEP_SECONDS)) {
            return;
        }
        self.seen.push_back((at, outstanding));
        while self.seen.front().is_some_and(|(first, _)| at - *first > Duration::seconds(WINDOW_SECONDS)) {
            self.seen.pop_front();
        }
    }

    /// An integration's peak and how many seconds ago it was, the latest of equal ones (if the level has not moved, since when it has not);
    /// none before 10 s have been observed.
    #[must_use]
    pub fn peak(
        &self,
        integration_id: IntegrationId,
        at: DateTime<Utc>,
        now_left: i64,
    ) -> Option<(i64, f64)> {
        let (first, _) = self.seen.front()?;
        if seconds_between(*first, at) < MIN_SECONDS {
            return None;
        }
        let mut peak = (now_left, 0.0);
        for (then, levels) in self.seen.iter().rev() {
            let left = levels.get(&integration_id).copied().unwrap_or(0);
            if left > peak.0 || (left == now_left && peak.0 == now_left) {
                peak = (left, seconds_between(*then, at));
            }
        }
        Some(peak)
    }
}

impl Levels {
    /// An integration's outstanding jobs about a minute ago; none before a minute has been observed.
    #[must_use]
    pub fn a_minute_ago(&self, integration_id: IntegrationId, at: DateTime<Utc>) -> Option<i64> {
        let (_, levels) = self.seen.iter().rev().find(|(then, _)| at - *then >= Duration::seconds(60))?;
        Some(levels.get(&integration_id).copied().unwrap_or(0))
    }
}

fn seconds_between(then: DateTime<Utc>, now: DateTime<Utc>) -> f64 {
    (now - then).num_milliseconds() as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_given_only_if_the_numbers_allow_one() {
        let pace = |outstanding, peak, ended_per_minute, limit_per_second| Pace {
            outstanding,
            peak,
            ended_per_minute,
            limit_per_second,
        };
        for (pace, eta) in [
            (pace(0, None, 0, None), Some(0)),
            (pace(100, None, 0, None), None),
            (pace(100, None, 600, None), Some(10)),
            (pace(100, Some((200, 50.0)), 0, None), Some(50)),
            (pace(100, Some((200, 5.0)), 600, None), None),
            (pace(100, None, 0, Some(2.0)), Some(50)),
            (pace(100, Some((100, 0.0)), 0, Some(2.0)), Some(50)),
            (pace(100, Some((100, 60.0)), 0, Some(2.0)), None),
            (pace(100, Some((100, 60.0)), 600, None), None),
            (pace(100, None, 6_000, Some(2.0)), Some(50)),
            (pace(100, None, 60, Some(2.0)), Some(100)),
            (pace(i64::MAX, None, 1, None), None),
        ] {
            assert_eq!(eta_seconds(pace), eta, "{pace:?}");
        }
    }

    #[test]
    fn the_level_a_minute_ago_is_known_after_a_minute_of_observation() {
        let id = IntegrationId::generate();
        let begin = DateTime::UNIX_EPOCH;
        let mut levels = Levels::default();
        levels.remember(begin, HashMap::from([(id, 7)]));
        levels.remember(begin + Duration::seconds(30), HashMap::from([(id, 9)]));
        assert_eq!(levels.a_minute_ago(id, begin + Duration::seconds(59)), None);
        assert_eq!(levels.a_minute_ago(id, begin + Duration::seconds(60)), Some(7));
        assert_eq!(levels.a_minute_ago(id, begin + Duration::seconds(95)), Some(9));
        assert_eq!(levels.a_minute_ago(IntegrationId::generate(), begin + Duration::seconds(95)), Some(0));
    }

    #[test]
    fn the_pace_is_measured_from_the_peak_of_the_last_two_minutes() {
        let id = IntegrationId::generate();
        let begin = DateTime::UNIX_EPOCH;
        let mut levels = Levels::default();
        assert_eq!(levels.peak(id, begin, 7), None);
        for (second, left) in [(0, 0), (1, 9_999), (5, 500), (10, 1_000), (20, 800)] {
            levels.remember(begin + Duration::seconds(second), HashMap::from([(id, left)]));
        }
        assert_eq!(levels.peak(id, begin + Duration::seconds(30), 600), Some((1_000, 20.0)));
        assert_eq!(levels.peak(id, begin + Duration::seconds(30), 2_000), Some((2_000, 0.0)));
        assert_eq!(
            levels.peak(id, begin + Duration::seconds(30), 1_000),
            Some((1_000, 20.0)),
            "the level has not moved"
        );
        levels.remember(begin + Duration::seconds(135), HashMap::new());
        assert_eq!(levels.peak(id, begin + Duration::seconds(140), 600), Some((800, 120.0)));
        assert_eq!(levels.peak(IntegrationId::generate(), begin + Duration::seconds(140), 3), Some((3, 0.0)));
    }
}
