//! What the rooms of one engine tell each other.

pub(super) mod meters;
pub(super) mod shared;
pub(super) mod watchdog;
