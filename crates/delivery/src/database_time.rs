//! A time the database told, which goes on with this process's monotonic clock: what is signed and written for others carries it, because the
//! time of day of a host may be off, and receivers refuse what seems to be minutes old.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::time::Instant;

/// The database's clock, as of its last word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DatabaseTime {
    at: DateTime<Utc>,
    told_at: Instant,
}

impl DatabaseTime {
    /// The database said so a moment ago.
    pub(crate) fn told(at: DateTime<Utc>) -> Self {
        Self { at, told_at: Instant::now() }
    }

    /// What it said.
    pub(crate) fn as_told(self) -> DateTime<Utc> {
        self.at
    }

    /// What it shows now.
    pub(crate) fn now(self) -> DateTime<Utc> {
        self.after(Duration::ZERO)
    }

    /// What it will show then.
    pub(crate) fn after(self, wait: Duration) -> DateTime<Utc> {
        let since = TimeDelta::from_std(self.told_at.elapsed().saturating_add(wait)).ok();
        since.and_then(|since| self.at.checked_add_signed(since)).unwrap_or(self.at)
    }
}
