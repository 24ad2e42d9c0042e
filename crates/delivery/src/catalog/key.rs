//! The key of a record, and of its one live job per integration.

pub(crate) use model::record::RecordKey;
pub(crate) use queue::store::jobs::{RESERVED_PREFIX, deduplication_id};
