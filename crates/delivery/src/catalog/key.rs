//! The key of a record, and of its one live job per integration.

use model::{id::AppId, record::Event};
pub(crate) use queue::store::jobs::{RESERVED_PREFIX, deduplication_id};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RecordKey {
    pub(crate) app_id: AppId,
    pub(crate) record_type: String,
    pub(crate) record_id: String,
}

impl RecordKey {
    pub(crate) fn of(event: &Event) -> Self {
        Self {
            app_id: event.app_id,
            record_type: event.record_type.clone(),
            record_id: event.record_id.clone(),
        }
    }
}
