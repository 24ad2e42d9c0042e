//! Claims jobs for the free slots of this process.

pub(super) mod claim_loop;
