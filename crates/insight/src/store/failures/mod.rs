//! Failures by cause, from counters: nothing is counted when a page is read.
//!
//! The finishing statements append failed attempts to `failure_deltas`, triggers append jobs that begin or cease to wait for a retry or to be dead
//! letters; the leader folds them ([`fold`]). So a list of groups reads as many rows as it shows, however much failed.

mod fold;
mod growing;
mod notes;
mod read;
mod recount;
mod same_cause;
mod steer;
mod sweep;

pub use fold::fold;
pub use growing::growing;
pub use notes::{notes, set_note};
pub use read::{affected, count_open, detail, get, list};
pub use recount::{next_cause, prove_failures};
pub use same_cause::same_cause;
pub use steer::mark;
pub use sweep::sweep;
