//! Background services of a deployment, which one of its processes runs at a time: the leader.
//!
//! Every process runs [`Maintenance`]; the leader's lease (a row, by the database's clock) decides which of them works, and every
//! write tests the term. Each [`Service`] runs in a task of its own: one that fails or panics backs off, reports it in its
//! health, and stops no other.

mod backup_fold;
mod batch_jobs;
mod breakers;
mod counters;
mod election;
mod expiry;
mod fold_counts;
mod health;
mod lead;
mod lease_recovery;
mod partitions;
mod passed_over;
mod portions;
mod promote;
mod recount;
mod reindex;
mod retention;
mod run;
mod service;
mod signs;
mod tidy;
mod vacuum;

pub use batch_jobs::BatchJobs;
pub use counters::Counters;
pub use fold_counts::fold_counts;
pub use health::{MaintenanceHealth, ServiceHealth};
pub use lead::Maintenance;
pub use retention::retention_of;
pub use service::{Service, all_services};
#[cfg(feature = "testing")]
pub(crate) use {recount::Recount, reindex::Reindex};
