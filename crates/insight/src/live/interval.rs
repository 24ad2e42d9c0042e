//! The interval between snapshots: one rule for the sampler and for the processes that read what it wrote.

use chrono::{DateTime, TimeDelta, Utc};
use model::stats::{Snapshot, Totals};
use std::time::Duration;

/// The interval while nothing changes.
const QUIET: Duration = Duration::from_secs(1);
/// The interval while something changes, so that most changes are shown within half a second.
const MOVING: Duration = Duration::from_millis(500);
/// How long nothing must have changed: occasional changes are sampled as often as constant ones.
const QUIET_AFTER: TimeDelta = TimeDelta::seconds(10);

/// The time between one snapshot and the next.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SnapshotInterval {
    totals: Option<Totals>,
    moved_at: Option<DateTime<Utc>>,
}

impl SnapshotInterval {
    pub(crate) fn after(&mut self, snapshot: &Snapshot) -> Duration {
        // The age grows while nothing happens, so it is left out of the comparison.
        let totals = Totals { oldest_pending_age_seconds: None, ..snapshot.totals };
        if self.totals.replace(totals).is_some_and(|before| before != totals) {
            self.moved_at = Some(snapshot.at);
        }
        match self.moved_at {
            Some(at) if snapshot.at - at < QUIET_AFTER => MOVING,
            _ => QUIET,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::failure::FailureSummary;

    #[test]
    fn snapshots_come_twice_a_second_until_nothing_has_moved_for_ten() {
        let mut interval = SnapshotInterval::default();
        let mut after = |second, backlog, age| {
            let totals = Totals { backlog, oldest_pending_age_seconds: Some(age), ..Totals::default() };
            interval.after(&Snapshot {
                at: DateTime::UNIX_EPOCH + TimeDelta::seconds(second),
                totals,
                retry_pyramid: Vec::new(),
                integrations: Vec::new(),
                workers: 0,
                failures: FailureSummary::default(),
                warnings: Vec::new(),
            })
        };
        for (second, backlog, expected) in
            [(0, 7, QUIET), (1, 7, QUIET), (2, 8, MOVING), (3, 8, MOVING), (11, 8, MOVING), (12, 8, QUIET)]
        {
            assert_eq!(after(second, backlog, second), expected, "second {second}");
        }
    }
}
