//! Failures by cause: kept by counters, never counted when somebody looks.
//!
//! The finishing statements append what happened to `failure_deltas`, triggers what comes to wait and what is given up, or no longer is; the
//! leader adds it up ([`fold`]). So a list of groups reads as many rows as it shows, whatever failed.

mod fold;
mod growing;
mod notes;
mod read;
mod steer;
mod sweep;

pub use fold::fold;
pub use growing::growing;
pub use notes::{notes, tell};
pub use read::{affected, count_open, detail, get, list};
pub use steer::{Mark, mark};
pub use sweep::sweep;
