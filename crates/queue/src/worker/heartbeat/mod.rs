//! Keeps the lease of this process: registers it, renews it, and signs off.

pub(super) mod beat;
pub(super) mod clock_skew;
