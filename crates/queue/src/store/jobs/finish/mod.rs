//! Finishing: the end of an attempt and what follows from it.

pub(super) mod end;
mod locked_elsewhere;
mod params;
pub(super) mod progress;
mod record;

pub use end::{Applied, AttemptEnd, Completion, Ending, Failure, Response};
pub(crate) use locked_elsewhere::locked_elsewhere;
pub(crate) use progress::note_progress;
pub use record::{BEGIN, Finished, finish};
