//! Accepting: jobs become rows, changes fold into waiting ones, serialize keys form lines.

pub(super) mod enqueue;
mod fold;
pub(super) mod record_key;
mod spec;

pub use enqueue::enqueue;
pub(crate) use enqueue::enqueue_single;
pub use record_key::{RESERVED_PREFIX, deduplication_id, record_of};
pub use spec::JobSpec;
// For `store::tidy`.
pub(crate) use crate::store::jobs::rows::keys;
