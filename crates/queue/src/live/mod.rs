//! The newest snapshot in memory: what `/live`, `/metrics` and every first paint read.
//!
//! One or two small queries a second per process, whatever the number of viewers. When the database is away the last snapshot stays and says
//! since when it is stale. What viewers have open is looked at more often (`opened`).

mod history;
mod hub;
mod interval;
mod opened;
mod state;

pub use history::Yesterday;
pub use hub::LiveHub;
pub(crate) use interval::SnapshotInterval;
pub use opened::{Audience, Version, Versions};
pub use state::{LiveState, Outage};
