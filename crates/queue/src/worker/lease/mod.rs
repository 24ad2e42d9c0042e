//! The lease of this process, as far as the process itself can know. The `heartbeat` keeps it; all others only ask for it.

mod process_lease;
mod validity;

pub(crate) use process_lease::ProcessLease;
pub(crate) use validity::{Lease, Moment};
