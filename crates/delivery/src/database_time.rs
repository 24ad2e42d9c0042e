//! A time of the database's clock, continued by this process's monotonic clock. Requests are signed with it, because a host's clock may be
//! wrong, and receivers refuse requests that seem to be minutes old.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::time::Instant;

#[derive(Clone, Copy, Debug)]
pub(crate) struct DatabaseTime {
    at: DateTime<Utc>,
    read_at: Instant,
}

impl DatabaseTime {
    /// `at` was just read from the database.
    pub(crate) fn read_now(at: DateTime<Utc>) -> Self {
        Self { at, read_at: Instant::now() }
    }

    /// The time as it was read.
    pub(crate) fn as_read(self) -> DateTime<Utc> {
        self.at
    }

    pub(crate) fn now(self) -> DateTime<Utc> {
        self.after(Duration::ZERO)
    }

    pub(crate) fn after(self, wait: Duration) -> DateTime<Utc> {
        let since = TimeDelta::from_std(self.read_at.elapsed().saturating_add(wait)).ok();
        since.and_then(|since| self.at.checked_add_signed(since)).unwrap_or(self.at)
    }
}
