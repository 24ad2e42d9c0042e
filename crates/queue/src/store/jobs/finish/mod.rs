//! Finishing: the end of an attempt and what follows from it.

pub(super) mod end;
pub(super) mod progress;

pub use end::{Applied, AttemptEnd, BEGIN, Completion, Ending, Failure, Finished, Response, finish};
pub(crate) use progress::note_progress;
