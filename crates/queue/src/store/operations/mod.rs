//! Bulk actions: one button, many jobs.
//!
//! Up to 100 are done at once; more become a row that is held for a while, worked off in chunks by the leader, and can be paused,
//! resumed and aborted. What is touched is decided when it is asked for: the exact number is counted, and later jobs are not touched.

mod apply;
mod control;
mod read;
mod run;
mod selection;
mod start;
mod turn;

pub use control::{abort, pause, resume, undo};
pub use read::{get, list};
pub use run::{Waiting, begin_held, run_chunk, unfinished};
pub use start::{BulkStart, start};
