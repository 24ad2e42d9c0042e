//! Rows of `saved_views`, with the viewer's pins and the last counts. A private view does not exist for anybody but its owner.

mod count;
mod read;
mod write;

pub use count::{CountedView, due, record_count};
pub use read::{alerting, get, list};
pub use write::{change, delete, insert, lock_view, pin};
