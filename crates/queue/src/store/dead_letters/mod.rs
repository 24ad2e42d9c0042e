//! Dead letters: listed, grouped by cause, requeued, purged.

mod read;
mod write;

pub use read::{get, groups, list};
pub use write::{purge, requeue};
