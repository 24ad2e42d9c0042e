//! Dead letters: requeued, purged into the bin and restored from it.

mod bin;
mod write;

pub use bin::{OperationLetter, discard_copies, keep_copies, of_operation, restore_many, undo_requeue};
pub use bin::{delete_expired as empty_bin, restore};
pub use write::purge_many;
pub use write::{purge, requeue};
