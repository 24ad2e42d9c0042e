//! Dead letters: requeued, purged into the bin and restored from it.

mod bin;
mod write;

pub use bin::{
    OperationLetter, discard_copies, keep_copies, of_operation, restore, restore_many, undo_requeue,
};
pub use write::{purge, purge_many, requeue};
