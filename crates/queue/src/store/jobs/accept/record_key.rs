//! The deduplication id of a record's job: each integration has one live job for all changes of a record, which is found by this id.

use sha2::{Digest, Sha256};

/// Callers of `POST /jobs` may not use deduplication ids that begin with this: no record's change must be folded into a job of theirs.
pub const RESERVED_PREFIX: &str = "headgate:";

const MAX_CHARS: usize = 255;

/// `headgate:record:type:id`; a colon inside the type is escaped, so that no two records share an id. Longer ones become a hash.
#[must_use]
pub fn deduplication_id(record_type: &str, record_id: &str) -> String {
    let record_type = record_type.replace('%', "%25").replace(':', "%3A");
    let plain = format!("{RESERVED_PREFIX}record:{record_type}:{record_id}");
    if plain.chars().count() <= MAX_CHARS {
        return plain;
    }
    format!("{RESERVED_PREFIX}record#{:x}", Sha256::digest(&plain))
}

/// Type and id of the record that such an id is made of; none for a hash.
#[must_use]
pub fn record_of(deduplication_id: &str) -> Option<(String, String)> {
    let (record_type, record_id) =
        deduplication_id.strip_prefix(RESERVED_PREFIX)?.strip_prefix("record:")?.split_once(':')?;
    Some((record_type.replace("%3A", ":").replace("%25", "%"), record_id.to_owned()))
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
        for ((kind, id), deduplication_id) in keys.iter().zip(&ids) {
            let record = record_of(deduplication_id);
            let is_hash = deduplication_id.contains('#');
            assert_eq!(record, (!is_hash).then(|| ((*kind).to_owned(), (*id).to_owned())));
        }
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), keys.len());
    }
}
