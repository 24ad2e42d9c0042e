//! Keeps the lease of this process: registers it, renews it, and signs off. Each heartbeat also compares the clocks, and reads the cancel requests.

mod clock_skew;
mod heartbeats;

pub(crate) use clock_skew::in_words;
pub(crate) use heartbeats::Heartbeats;
