//! What an event makes of a record. Pure: several events of one request behave as if they had come one by one.

use model::{
    json::{equal, equal_objects},
    record::{Attributes, Event, EventType},
};

/// A record between two events. Version 0: nobody has heard of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct State {
    pub(super) version: i64,
    pub(super) is_live: bool,
    pub(super) attributes: Attributes,
}

impl State {
    /// Applies an event; answers whether it changed anything.
    pub(super) fn apply(&mut self, event: &Event) -> bool {
        let changes = match event.event_type {
            EventType::Deleted => self.is_live,
            // An update of a record that is unknown or was deleted creates it.
            _ if !self.is_live => true,
            EventType::Replaced => !equal_objects(&self.attributes, &event.attributes),
            EventType::Created
            | EventType::Updated
            | EventType::AttributeUpdate
            | EventType::AttributeDeltaUpdate
            | EventType::MetadataUpdate
            | EventType::MetadataSingleUpdate => {
                let is_same = |name, value| self.attributes.get(name).is_some_and(|held| equal(held, value));
                !event.attributes.iter().all(|(name, value)| is_same(name, value))
            }
        };
        if !changes {
            return false;
        }
        self.version += 1;
        self.is_live = event.event_type != EventType::Deleted;
        match event.event_type {
            EventType::Deleted => self.attributes.clear(),
            EventType::Replaced => self.attributes.clone_from(&event.attributes),
            _ => self.attributes.extend(event.attributes.iter().map(|(k, v)| (k.clone(), v.clone()))),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::id::AppId;
    use serde_json::{Value, json};

    fn run(start: Option<Value>, events: &[(&str, Value)]) -> (State, Vec<bool>) {
        let mut state = start.map_or_else(State::default, |attributes| State {
            version: 3,
            is_live: true,
            attributes: attributes.as_object().unwrap().clone(),
        });
        let changed = events
            .iter()
            .map(|(kind, attributes)| {
                let event: Event = serde_json::from_value(json!({
                    "app_id": AppId::generate(), "type": kind, "record_type": "t", "record_id": "1", "attributes": attributes
                }))
                .unwrap();
                state.apply(&event)
            })
            .collect();
        (state, changed)
    }

    #[test]
    fn events_of_one_record_apply_in_order() {
        let none = Value::Object(Attributes::new());
        for (start, events, version, left, changed) in [
            (None, vec![("record.created", json!({"a": 1}))], 1, Some(json!({"a": 1})), vec![true]),
            (None, vec![("record.updated", json!({}))], 1, Some(json!({})), vec![true]),
            (None, vec![("record.deleted", none.clone())], 0, None, vec![false]),
            (
                Some(json!({"a": 1})),
                vec![("record.updated", json!({"a": 1}))],
                3,
                Some(json!({"a": 1})),
                vec![false],
            ),
            // The same numbers, written in another way.
            (
                Some(json!({"a": 5, "b": 0})),
                vec![
                    ("record.updated", json!({"a": 5.0})),
                    ("record.replaced", json!({"a": 5.0, "b": -0.0})),
                ],
                3,
                Some(json!({"a": 5, "b": 0})),
                vec![false, false],
            ),
            (
                Some(json!({"a": 1, "b": 2})),
                vec![("attribute.update", json!({"a": 5})), ("record.created", json!({"c": null}))],
                5,
                Some(json!({"a": 5, "b": 2, "c": null})),
                vec![true, true],
            ),
            (
                Some(json!({"a": 1, "b": 2})),
                vec![("record.replaced", json!({"a": 1})), ("record.replaced", json!({"a": 1}))],
                4,
                Some(json!({"a": 1})),
                vec![true, false],
            ),
            (
                Some(json!({"a": 1})),
                vec![
                    // Some senders repeat what the record was: a deletion has no use for it.
                    ("record.deleted", json!({"a": 1, "c": 2})),
                    ("record.deleted", none),
                    ("metadata.update", json!({"b": 1})),
                ],
                5,
                Some(json!({"b": 1})),
                vec![true, false, true],
            ),
            // There and back again: two changes, although nothing is left of them.
            (
                Some(json!({"a": 1})),
                vec![("record.updated", json!({"a": 2})), ("record.updated", json!({"a": 1}))],
                5,
                Some(json!({"a": 1})),
                vec![true, true],
            ),
            (
                Some(json!({"a": {"x": 1, "y": 2}})),
                vec![("record.updated", json!({"a": {"x": 1}}))],
                4,
                Some(json!({"a": {"x": 1}})),
                vec![true],
            ),
        ] {
            let (state, did_change) = run(start, &events);
            assert_eq!((state.version, did_change), (version, changed), "{events:?}");
            assert_eq!(state.is_live.then_some(Value::Object(state.attributes)), left, "{events:?}");
        }
    }
}
