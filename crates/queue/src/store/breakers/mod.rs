//! Circuit breakers: their rows, the number the claim heeds (`lanes.breaker_cap`) and the record of every change.
//!
//! All writes go the same way: lock the rows in the order of their integrations, ask the rule ([`model::rules::breaker`]), write row, number
//! and flips in one transaction. The order of locks is integration (against deletion), breaker, lane. Wake the workers after the commit.

mod due;
mod flips;
mod observe;
mod row;
mod steer;

pub use due::{due, tick};
pub use flips::flips;
pub use observe::{Observed, Report, Watched, observe, watched};
pub(crate) use row::Change;
pub use steer::{start_anew, steer};
