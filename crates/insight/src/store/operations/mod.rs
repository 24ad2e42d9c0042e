//! Bulk operations: one action on many jobs.
//!
//! Each is a row. The request itself does up to 100 jobs; larger operations are held for a while, then done in portions by the leader, and can be
//! paused, resumed and aborted. The jobs are determined by the request: their exact number is counted, and later jobs are not
//! touched. The earlier state of what was changed is kept for 24 hours for an undo, which is a bulk operation too.

mod apply;
mod control;
mod group;
mod load;
mod read;
mod run;
mod selection;
mod skip_reasons;
mod start;
mod tally;
mod undo;
mod undo_state;

pub use control::{abort, pause, resume};
pub use read::{get, list};
pub use run::{RunningOperation, begin_held, run_portion, running};
pub use start::{PreparedBulk, outcome, prepare, start};
pub use undo::undo;
