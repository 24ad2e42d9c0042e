//! SQL of apps, integrations, the catalog, sent state and re-syncs. Functions that write take a connection, so that a caller's
//! transaction can contain several, and its audit line.
//!
//! Order of locks: integration, records by key, what the queue locks (batch, serialize key, rate limit, job), sent state.

pub(crate) mod apps;
pub(crate) mod catalog;
pub mod deletions;
pub(crate) mod fold_records;
pub(crate) mod integrations;
pub(crate) mod jobs;
pub(crate) mod lookup;
pub(crate) mod marks;
pub(crate) mod masks;
pub(crate) mod material;
pub(crate) mod rate_limits;
pub(crate) mod record_counts;
pub(crate) mod records;
pub(crate) mod recount_records;
pub(crate) mod resyncs;
pub(crate) mod retention;
pub(crate) mod sent;
pub(crate) mod tombstones;
