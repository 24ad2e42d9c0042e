//! What an external system has to be told of a record. Pure.

use model::{record::Attributes, rules::diff::Changes};

use crate::store::material::{KnownRecord, SentState, Unsure};

/// What there is to tell.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Telling {
    /// It has what there is. The version it has may still be an older one (the record changed there and back).
    Nothing,
    /// All attributes: the first time, a re-sync, or when it is not known what arrived.
    Whole,
    /// The difference to what it accepted last.
    Difference {
        /// What to set and what to take away.
        changes: Changes,
        /// Whether an earlier attempt may have arrived: then only the whole state is sure to end right where the difference cannot be
        /// applied twice.
        is_unsure: bool,
    },
    /// The record is gone.
    Deletion {
        /// Whether an earlier attempt may have arrived: then "not found" says that it did.
        is_unsure: bool,
    },
}

/// Decides. `is_full`: a re-sync asked for everything.
pub(super) fn decide(
    record: Option<&KnownRecord>,
    sent: Option<&SentState>,
    unsure: Option<&Unsure>,
    is_full: bool,
) -> Telling {
    let Some(record) = record.filter(|record| !record.is_deleted) else {
        return if sent.is_some() || unsure.is_some() {
            Telling::Deletion { is_unsure: unsure.is_some() }
        } else {
            Telling::Nothing
        };
    };
    let Some(sent) = sent.filter(|_| !is_full) else { return Telling::Whole };
    let doubtful: &[String] = match unsure {
        None => &[],
        Some(Unsure { attributes: Some(attributes) }) => attributes,
        // A whole state or a deletion may have arrived.
        Some(Unsure { attributes: None }) => return Telling::Whole,
    };
    let changes =
        with_doubtful(Changes::between(&sent.attributes, &record.attributes), &record.attributes, doubtful);
    if changes.is_empty() {
        Telling::Nothing
    } else {
        Telling::Difference { changes, is_unsure: unsure.is_some() }
    }
}

/// Attributes that may have arrived are told again, whatever they are now: the record may have changed back meanwhile.
fn with_doubtful(mut changes: Changes, now: &Attributes, doubtful: &[String]) -> Changes {
    for name in doubtful {
        match now.get(name) {
            Some(value) => {
                changes.set.insert(name.clone(), value.clone());
            }
            None if !changes.unset.contains(name) => changes.unset.push(name.clone()),
            None => {}
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn attributes(value: Value) -> Attributes {
        value.as_object().unwrap().clone()
    }

    fn record(value: Value) -> KnownRecord {
        KnownRecord { version: 2, attributes: attributes(value), is_deleted: false }
    }

    fn sent(value: Value) -> SentState {
        SentState { version: 1, attributes: attributes(value) }
    }

    fn unsure(names: &[&str]) -> Unsure {
        Unsure { attributes: Some(names.iter().map(|name| (*name).to_owned()).collect()) }
    }

    fn difference(set: Value, unset: &[&str], is_unsure: bool) -> Telling {
        let unset = unset.iter().map(|name| (*name).to_owned()).collect();
        Telling::Difference { changes: Changes { set: attributes(set), unset }, is_unsure }
    }

    #[test]
    fn what_is_known_decides_what_is_told() {
        let now = record(json!({"a": 1, "b": 2}));
        let same = sent(json!({"a": 1, "b": 2}));
        let older = sent(json!({"a": 0, "c": 3}));
        let whole = Unsure { attributes: None };
        for (sent, unsure, is_full, telling) in [
            (None, None, false, Telling::Whole),
            (Some(&same), None, false, Telling::Nothing),
            (Some(&same), None, true, Telling::Whole),
            (Some(&older), None, false, difference(json!({"a": 1, "b": 2}), &["c"], false)),
            (Some(&same), Some(&unsure(&["a", "z"])), false, difference(json!({"a": 1}), &["z"], true)),
            (Some(&older), Some(&unsure(&["c"])), false, difference(json!({"a": 1, "b": 2}), &["c"], true)),
            (Some(&same), Some(&whole), false, Telling::Whole),
            (None, Some(&unsure(&["a"])), false, Telling::Whole),
        ] {
            assert_eq!(decide(Some(&now), sent, unsure, is_full), telling);
        }
    }

    #[test]
    fn a_deletion_is_told_to_whoever_may_have_the_record() {
        let gone = KnownRecord { is_deleted: true, ..record(json!({})) };
        let has = sent(json!({"a": 1}));
        let may_have = Unsure { attributes: None };
        assert_eq!(decide(Some(&gone), None, None, true), Telling::Nothing);
        assert_eq!(decide(None, None, None, false), Telling::Nothing);
        assert_eq!(decide(Some(&gone), Some(&has), None, false), Telling::Deletion { is_unsure: false });
        assert_eq!(decide(None, Some(&has), None, false), Telling::Deletion { is_unsure: false });
        assert_eq!(decide(Some(&gone), None, Some(&may_have), false), Telling::Deletion { is_unsure: true });
    }
}
