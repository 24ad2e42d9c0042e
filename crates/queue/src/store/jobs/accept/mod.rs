//! Accepting: jobs become rows, changes fold into waiting ones, serialize keys form lines.

pub(super) mod columns;
pub(super) mod enqueue;
pub(super) mod entries;
pub(crate) mod keys;
pub(super) mod record_key;

pub use enqueue::{JobSpec, enqueue};
pub(crate) use enqueue::{SingleJob, enqueue_single};
pub(crate) use entries::enter_queue;
pub use record_key::{RESERVED_PREFIX, deduplication_id, record_of};
