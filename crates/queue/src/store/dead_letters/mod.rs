//! Dead letters: listed, grouped by cause, requeued, purged.

mod read;
mod write;

pub use read::{get, groups, list};
pub(crate) use write::purge_many;
pub use write::{purge, requeue};
