//! Starts the rooms of one engine, gives each the parts it uses, watches over them, and stops them in order.

#[cfg(feature = "testing")]
pub(crate) mod by_hand;
mod lease_thread;
mod listen;
mod parts;
pub(super) mod report;
pub(super) mod start;
mod supervise;
