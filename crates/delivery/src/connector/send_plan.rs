//! Decides what of a record is to be sent. Pure.

use model::{attributes::Attributes, rules::diff::Changes};

use crate::store::material::{KnownRecord, SentState, Uncertain};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum SendPlan {
    /// The system has the current state, though perhaps under an older version (the record changed there and back).
    Nothing,
    /// All attributes: for the first time, for a re-sync, or when it is not known what arrived.
    Whole,
    /// The difference to the state it accepted last.
    Difference {
        changes: Changes,
        /// Whether an earlier attempt may have arrived. A receiver that cannot apply the difference twice then needs the whole state.
        is_uncertain: bool,
    },
    /// The record is gone.
    Deletion {
        /// Whether an earlier attempt may have arrived: then "not found" says that it did.
        is_uncertain: bool,
    },
}

/// `is_full`: a re-sync asks for everything.
pub(super) fn decide(
    record: Option<&KnownRecord>,
    sent: Option<&SentState>,
    uncertain: Option<&Uncertain>,
    is_full: bool,
) -> SendPlan {
    let Some(record) = record.filter(|record| !record.is_deleted) else {
        return if sent.is_some() || uncertain.is_some() {
            SendPlan::Deletion { is_uncertain: uncertain.is_some() }
        } else {
            SendPlan::Nothing
        };
    };
    let Some(sent) = sent.filter(|_| !is_full) else { return SendPlan::Whole };
    let attributes: &[String] = match uncertain {
        None => &[],
        Some(Uncertain { attributes: Some(attributes) }) => attributes,
        // A whole state or a deletion may have arrived.
        Some(Uncertain { attributes: None }) => return SendPlan::Whole,
    };
    let changes = with_uncertain(
        Changes::between(&sent.attributes, &record.attributes),
        &record.attributes,
        attributes,
    );
    if changes.is_empty() {
        SendPlan::Nothing
    } else {
        SendPlan::Difference { changes, is_uncertain: uncertain.is_some() }
    }
}

/// Attributes that may have arrived are sent again, whatever they are now: the record may have changed back meanwhile.
fn with_uncertain(mut changes: Changes, now: &Attributes, uncertain: &[String]) -> Changes {
    for name in uncertain {
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

    fn uncertain(names: &[&str]) -> Uncertain {
        Uncertain { attributes: Some(names.iter().map(|name| (*name).to_owned()).collect()) }
    }

    fn difference(set: Value, unset: &[&str], is_uncertain: bool) -> SendPlan {
        let unset = unset.iter().map(|name| (*name).to_owned()).collect();
        SendPlan::Difference { changes: Changes { set: attributes(set), unset }, is_uncertain }
    }

    #[test]
    fn the_plan_follows_from_the_sent_state_and_what_is_uncertain() {
        let now = record(json!({"a": 1, "b": 2}));
        let same = sent(json!({"a": 1, "b": 2}));
        let older = sent(json!({"a": 0, "c": 3}));
        let whole = Uncertain { attributes: None };
        for (sent, uncertain, is_full, plan) in [
            (None, None, false, SendPlan::Whole),
            (Some(&same), None, false, SendPlan::Nothing),
            (Some(&same), None, true, SendPlan::Whole),
            (Some(&older), None, false, difference(json!({"a": 1, "b": 2}), &["c"], false)),
            (Some(&same), Some(&uncertain(&["a", "z"])), false, difference(json!({"a": 1}), &["z"], true)),
            (
                Some(&older),
                Some(&uncertain(&["c"])),
                false,
                difference(json!({"a": 1, "b": 2}), &["c"], true),
            ),
            (Some(&same), Some(&whole), false, SendPlan::Whole),
            (None, Some(&uncertain(&["a"])), false, SendPlan::Whole),
        ] {
            assert_eq!(decide(Some(&now), sent, uncertain, is_full), plan);
        }
    }

    #[test]
    fn a_deletion_is_sent_to_a_system_that_may_have_the_record() {
        let gone = KnownRecord { is_deleted: true, ..record(json!({})) };
        let has = sent(json!({"a": 1}));
        let may_have = Uncertain { attributes: None };
        assert_eq!(decide(Some(&gone), None, None, true), SendPlan::Nothing);
        assert_eq!(decide(None, None, None, false), SendPlan::Nothing);
        assert_eq!(decide(Some(&gone), Some(&has), None, false), SendPlan::Deletion { is_uncertain: false });
        assert_eq!(decide(None, Some(&has), None, false), SendPlan::Deletion { is_uncertain: false });
        assert_eq!(
            decide(Some(&gone), None, Some(&may_have), false),
            SendPlan::Deletion { is_uncertain: true }
        );
    }
}
