//! Starts the rooms of one engine, watches over them, and stops them in order.

#[cfg(feature = "testing")]
pub(crate) mod by_hand;
pub(super) mod lease_thread;
pub(super) mod listen;
pub(super) mod report;
pub(super) mod start;
