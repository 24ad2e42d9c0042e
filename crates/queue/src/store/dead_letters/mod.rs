//! Dead letters: listed, grouped by cause and integration, requeued, purged into the bin and restored from it.

mod bin;
mod found;
mod grid;
mod read;
mod write;

pub(crate) use bin::{
    OperationLetter, discard_copies, keep_copies, of_operation, restore_many, undo_requeue,
};
pub use bin::{binned, delete_expired as empty_bin, restore};
pub use grid::grid;
pub use read::{get, groups, list, list_without_payloads};
pub(crate) use write::purge_many;
pub use write::{purge, requeue};
