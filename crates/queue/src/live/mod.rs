//! The newest snapshot in memory: what `/live`, `/metrics` and every first paint read.
//!
//! One small query a second per process, whatever the number of viewers. When the database is away the last snapshot stays and says
//! since when it is stale.

mod history;
mod hub;
mod state;

pub use history::Yesterday;
pub use hub::LiveHub;
pub use state::{LiveState, Outage};
