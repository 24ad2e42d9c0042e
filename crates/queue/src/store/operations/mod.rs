//! Bulk actions: one button, many jobs.
//!
//! Each is a row. Up to 100 are done at once by whoever asked; more are held for a while, worked off in chunks by the leader, and can be
//! paused, resumed and aborted. What is touched is decided when it is asked for: the exact number is counted, and later jobs are not
//! touched. What was changed is remembered for 24 hours, so that it can be taken back: that is a bulk action too.

mod apply;
mod control;
mod load;
mod memory;
mod read;
mod run;
mod selection;
mod start;
mod turn;
mod undo;
mod why;

pub use control::{abort, pause, resume};
pub use memory::forget_expired;
pub use read::{get, list};
pub use run::{Waiting, begin_held, run_chunk, unfinished};
pub use start::{Asked, BulkStart, ask, begun, start};
pub use undo::undo;
