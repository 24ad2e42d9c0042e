//! Whether a request may be sent.

use chrono::{DateTime, Utc};

/// For a job that is released until now: the releasing statement raises times in the past to now.
pub const AT_ONCE: DateTime<Utc> = DateTime::UNIX_EPOCH;

/// Whether a request may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// It may be sent now.
    Go,
    /// Not soon: return [`crate::worker::Outcome::Released`] with this time.
    Later(DateTime<Utc>),
}
