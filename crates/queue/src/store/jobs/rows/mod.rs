//! What all of the rooms of jobs share: locks of rows, entries of the queue, serialize keys, and rows as columns.

pub(super) mod columns;
pub(super) mod entries;
pub(crate) mod keys;
pub(super) mod lock;

pub(crate) use entries::enter_queue;
