//! The newest snapshot in memory, for `/live`, `/metrics` and the first paint of every page.
//!
//! It costs one or two small queries a second per process, whatever the number of viewers. While the database is away the last snapshot stays, with
//! the time since when it is stale. What viewers have open is polled more often (`opened`).

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
