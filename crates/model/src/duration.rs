//! Durations as settings and API write them: milliseconds on the wire, with the unit in the name.

use std::time::Duration;

/// Whole milliseconds, saturating.
#[must_use]
pub fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// From milliseconds of a row; negative becomes zero.
#[must_use]
pub fn from_millis(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}
