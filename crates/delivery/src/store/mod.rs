//! SQL of apps, integrations, the catalog, what was sent of it, and re-syncs. Functions that write take a connection, so that a caller's
//! transaction (with its audit line) can hold several.
//!
//! Locks: integration, then records by key, then what the queue locks (batch, serialize key, rate limit, job), then sent state.

pub(crate) mod apps;
pub(crate) mod catalog;
pub(crate) mod integrations;
pub(crate) mod jobs;
pub(crate) mod marks;
pub(crate) mod masks;
pub(crate) mod material;
pub(crate) mod rate_limits;
pub(crate) mod record_counts;
pub(crate) mod records;
pub(crate) mod resyncs;
pub(crate) mod sent;
pub(crate) mod trail;
