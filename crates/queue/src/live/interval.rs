//! How long a snapshot is the newest: the sampler and those who read what it wrote ask the same rule.

use chrono::{DateTime, TimeDelta, Utc};
use model::stats::{Snapshot, Totals};
use std::time::Duration;

/// While nothing moves.
const QUIET: Duration = Duration::from_secs(1);
/// While something does, so that a change is shown within half a second, mostly.
const MOVING: Duration = Duration::from_millis(500);
/// Nothing moves when nothing did for so long: what moves now and then is sampled as often as what moves always.
const QUIET_AFTER: TimeDelta = TimeDelta::seconds(10);

/// Until the next snapshot, from one to the next.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SnapshotInterval {
    totals: Option<Totals>,
    moved_at: Option<DateTime<Utc>>,
}

impl SnapshotInterval {
    /// From this snapshot to the next one.
    pub(crate) fn after(&mut self, snapshot: &Snapshot) -> Duration {
        // An age grows while nothing happens.
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
    use model::failure::FailurePulse;

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
                failures: FailurePulse::default(),
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
