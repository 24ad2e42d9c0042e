//! The key of a record, and of the one live job per integration that stands for it.

use model::{id::AppId, record::Event};
use sha2::{Digest, Sha256};

/// Names a record.
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

/// Callers of `POST /jobs` may not use deduplication ids that begin with it: a job of theirs must not swallow a record's change.
pub(crate) const RESERVED: &str = "headgate:";

const LONGEST: usize = 255;

/// `headgate:record:type:id`; a colon inside the type is escaped, so that no two records share an id. Longer ones become a hash.
pub(crate) fn deduplication_id(record_type: &str, record_id: &str) -> String {
    let record_type = record_type.replace('%', "%25").replace(':', "%3A");
    let plain = format!("{RESERVED}record:{record_type}:{record_id}");
    if plain.chars().count() <= LONGEST {
        return plain;
    }
    format!("{RESERVED}record#{:x}", Sha256::digest(&plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_records_share_an_id() {
        let long = "x".repeat(255);
        let keys = [
            ("product", "1"),
            ("product:1", ""),
            ("product", ":1"),
            ("product:", "1"),
            ("product%3A", "1"),
            (&long, "a"),
            (&long, "b"),
            (&long, &long),
            ("a", &long),
        ];
        let mut ids: Vec<String> = keys.iter().map(|(kind, id)| deduplication_id(kind, id)).collect();
        assert_eq!(ids[0], "headgate:record:product:1");
        assert!(ids.iter().all(|id| id.chars().count() <= 255));
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), keys.len());
    }
}
