//! The deduplication id of a record's job: one live job per integration stands for all of a record's changes, and is found by it.

use sha2::{Digest, Sha256};

/// Callers of `POST /jobs` may not use deduplication ids that begin with it: a job of theirs must not swallow a record's change.
pub const RESERVED: &str = "headgate:";

const LONGEST: usize = 255;

/// `headgate:record:type:id`; a colon inside the type is escaped, so that no two records share an id. Longer ones become a hash.
#[must_use]
pub fn deduplication_id(record_type: &str, record_id: &str) -> String {
    let record_type = record_type.replace('%', "%25").replace(':', "%3A");
    let plain = format!("{RESERVED}record:{record_type}:{record_id}");
    if plain.chars().count() <= LONGEST {
        return plain;
    }
    format!("{RESERVED}record#{:x}", Sha256::digest(&plain))
}

/// Type and id of the record behind such an id; none behind a hash.
#[must_use]
pub fn record_of(deduplication_id: &str) -> Option<(String, String)> {
    let (record_type, record_id) =
        deduplication_id.strip_prefix(RESERVED)?.strip_prefix("record:")?.split_once(':')?;
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
