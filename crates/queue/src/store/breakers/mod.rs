//! Circuit breakers: their rows, the cap that the claim obeys (`lanes.breaker_cap`) and the history of state changes.
//!
//! Every write locks the rows in the order of their integrations, asks the rule ([`model::rules::breaker`]), and writes row, cap
//! and flips in one transaction. Locks are taken in the order integration (against deletion), breaker, lane. Wake the workers after the commit.

mod due;
mod flips;
mod observe;
mod row;
mod steer;

pub use due::{due, tick};
pub use flips::flips;
pub use observe::{Observed, Report, Watched, observe, watched};
pub(crate) use row::Change;
pub use steer::{reset, steer};
