//! SQL, by table family. Functions that write take a connection, so that a caller's transaction can contain several; single reads
//! take the pool. Every read of an app's data takes the scope.
//!
//! Locks are taken in one order everywhere: batch, serialize key, rate limit, job (by integration and deduplication id), rows that
//! belong to the job.

pub mod breakers;
pub mod built_in;
pub mod clock;
pub mod connections;
pub mod counts;
pub mod dead_letters;
pub mod forget;
pub mod jobs;
pub mod lanes;
pub mod leader;
pub mod lock_timeout;
pub mod one_transaction;
pub(crate) mod own_lanes;
pub mod partitions;
pub mod promotion;
pub mod reindex;
pub mod retention;
pub mod schema;
pub mod system_events;
pub mod tidy;
pub mod vacuum;
pub(crate) mod worker_lease;
pub mod workers;
