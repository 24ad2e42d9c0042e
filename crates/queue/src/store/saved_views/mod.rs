//! Rows of `saved_views`, with the pins of whoever asks and what was counted last. A view that is private is for its owner alone: for everybody
//! else it is not there.

mod count;
mod read;
mod write;

pub use count::{CountedView, due, note};
pub use read::{alerting, get, list};
pub use write::{change, delete, hold, insert, pin};
