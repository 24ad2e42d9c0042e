//! Recovering: jobs whose worker is gone, or does not know them.

pub(super) mod lost_leases;
pub(super) mod orphans;

pub use lost_leases::{Recovered, recover_lost_leases};
pub(crate) use lost_leases::{claims_of_dead_workers, delete_dead_claims, recover};
pub use orphans::{OwnClaims, release_orphans};
