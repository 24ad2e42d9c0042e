//! Applies events to a record. Pure: several events of one request behave as if they had come one by one.

use chrono::{DateTime, Utc};
use model::attributes::Attributes;
use model::event::{Event, EventType};
use model::json::{equal, equal_objects};

use super::times::Times;

/// A record between two events. Version 0: there is none yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct State {
    pub(super) version: i64,
    pub(super) is_live: bool,
    pub(super) attributes: Attributes,
    /// None: no event said when it occurred.
    pub(super) times: Option<Times>,
}

/// What an event did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Effect {
    pub(super) changes: bool,
    /// An event that occurred later has set its attributes, or some of them.
    pub(super) is_stale: bool,
}

impl State {
    /// Applies an event, except what a newer one set. A time in the future counts as now: otherwise a sender whose clock is ahead would make
    /// all other events stale until that time.
    pub(super) fn apply(&mut self, event: &Event, now: DateTime<Utc>) -> Effect {
        let effect = match event.occurred_at {
            None => {
                if let (Some(times), EventType::Replaced | EventType::Deleted) =
                    (&mut self.times, event.event_type)
                {
                    times.set_whole_now();
                }
                Effect { changes: self.change(event.event_type, &event.attributes), is_stale: false }
            }
            Some(at) => self.apply_at(event, at.min(now)),
        };
        self.version += i64::from(effect.changes);
        effect
    }

    fn apply_at(&mut self, event: &Event, at: DateTime<Utc>) -> Effect {
        let mut times = self.times.take().unwrap_or_default();
        let (changes, is_stale) = match event.event_type {
            EventType::Deleted if !self.is_live && times.is_whole_newer(at) => (false, false),
            EventType::Deleted if times.is_any_newer(at) => (false, true),
            EventType::Deleted => {
                times.set_whole(at);
                (self.change(EventType::Deleted, &event.attributes), false)
            }
            _ if times.is_whole_newer(at) => (false, true),
            EventType::Replaced => {
                let newer = |name: &str| times.is_newer(name, at);
                let kept = self.attributes.iter().filter(|(name, _)| newer(name));
                let applied = event.attributes.iter().filter(|(name, _)| !newer(name));
                let left: Attributes = kept.chain(applied).map(|(k, v)| (k.clone(), v.clone())).collect();
                let is_stale = left.keys().any(|name| newer(name));
                times.set_whole(at);
                (self.change(EventType::Replaced, &left), is_stale)
            }
            kind => {
                let (stale, applied): (Vec<_>, Vec<_>) =
                    event.attributes.iter().partition(|(name, _)| times.is_newer(name, at));
                let applied: Attributes = applied.into_iter().map(|(k, v)| (k.clone(), v.clone())).collect();
                applied.keys().for_each(|name| times.set(name, at));
                (self.change(kind, &applied), !stale.is_empty())
            }
        };
        self.times = Some(times);
        Effect { changes, is_stale }
    }

    /// Makes the change; returns whether it is one.
    fn change(&mut self, kind: EventType, attributes: &Attributes) -> bool {
        let changes = match kind {
            EventType::Deleted => self.is_live,
            // An update of a record that is unknown or was deleted creates it.
            _ if !self.is_live => true,
            EventType::Replaced => !equal_objects(&self.attributes, attributes),
            EventType::Created
            | EventType::Updated
            | EventType::AttributeUpdate
            | EventType::AttributeDeltaUpdate
            | EventType::MetadataUpdate
            | EventType::MetadataSingleUpdate => {
                let is_same =
                    |name, value| self.attributes.get(name).is_some_and(|current| equal(current, value));
                !attributes.iter().all(|(name, value)| is_same(name, value))
            }
        };
        if !changes {
            return false;
        }
        self.is_live = kind != EventType::Deleted;
        match kind {
            EventType::Deleted => self.attributes.clear(),
            EventType::Replaced => self.attributes.clone_from(attributes),
            _ => self.attributes.extend(attributes.iter().map(|(k, v)| (k.clone(), v.clone()))),
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
            times: None,
        });
        let changed = events
            .iter()
            .map(|(kind, attributes)| {
                let event: Event = serde_json::from_value(json!({
                    "app_id": AppId::generate(), "type": kind, "record_type": "t", "record_id": "1", "attributes": attributes
                }))
                .unwrap();
                state.apply(&event, Utc::now()).changes
            })
            .collect();
        (state, changed)
    }

    fn now() -> DateTime<Utc> {
        "2026-01-01T00:00:50Z".parse().unwrap()
    }

    /// Events that occurred at a second, or do not say when. Returns the attributes that are left, and for each event whether it changed
    /// something and whether it was stale.
    fn run_timed(events: &[(Option<u32>, &str, Value)]) -> (Option<Value>, Vec<(bool, bool)>) {
        let mut state = State::default();
        let effects = events.iter().map(|(second, kind, attributes)| {
            let event: Event = serde_json::from_value(json!({
                "app_id": AppId::generate(), "type": kind, "record_type": "t", "record_id": "1", "attributes": attributes,
                "occurred_at": second.map(|second| format!("2026-01-01T00:00:{second:02}Z")),
            }))
            .unwrap();
            let effect = state.apply(&event, now());
            // As it is stored between two requests.
            state.times = serde_json::from_value(serde_json::to_value(&state.times).unwrap()).unwrap();
            (effect.changes, effect.is_stale)
        });
        let effects = effects.collect();
        (state.is_live.then_some(Value::Object(state.attributes)), effects)
    }

    #[test]
    fn a_time_in_the_future_counts_as_now() {
        let price = |price: i32| json!({"price": price});
        let events = [(Some(59), "record.updated", price(1)), (Some(50), "record.updated", price(2))];
        assert_eq!(run_timed(&events), (Some(price(2)), vec![(true, false), (true, false)]));
    }

    #[test]
    fn an_older_event_does_not_overwrite_what_a_newer_one_set() {
        let none = || Value::Object(Attributes::new());
        let (fresh, idle, stale, partly) = ((true, false), (false, false), (false, true), (true, true));
        for (events, left, effects) in [
            (
                vec![
                    (Some(20), "record.updated", json!({"a": 20})),
                    (Some(10), "record.updated", json!({"a": 10})),
                    (Some(10), "record.updated", json!({"a": 10, "b": 10})),
                    (Some(20), "record.updated", json!({"a": 21})),
                ],
                Some(json!({"a": 21, "b": 10})),
                vec![fresh, stale, partly, fresh],
            ),
            // The same value again is no change, but makes the attribute newer.
            (
                vec![
                    (Some(10), "record.updated", json!({"a": 1})),
                    (Some(30), "record.updated", json!({"a": 1})),
                    (Some(20), "record.updated", json!({"a": 2})),
                ],
                Some(json!({"a": 1})),
                vec![fresh, idle, stale],
            ),
            (
                vec![
                    (Some(10), "record.updated", json!({"a": 1, "b": 1})),
                    (Some(30), "record.updated", json!({"b": 3})),
                    (Some(20), "record.replaced", json!({"b": 2, "c": 2})),
                    (Some(15), "record.updated", json!({"a": 1})),
                    (Some(25), "record.updated", json!({"c": 25})),
                ],
                Some(json!({"b": 3, "c": 25})),
                vec![fresh, fresh, partly, stale, fresh],
            ),
            // A deletion is about all attributes.
            (
                vec![
                    (Some(10), "record.updated", json!({"a": 1})),
                    (Some(30), "record.updated", json!({"b": 3})),
                    (Some(20), "record.deleted", none()),
                    (Some(30), "record.deleted", none()),
                    (Some(29), "record.updated", json!({"a": 2})),
                    (Some(25), "record.deleted", none()),
                ],
                None,
                vec![fresh, fresh, stale, fresh, stale, idle],
            ),
            // Also of a record that does not exist.
            (
                vec![(Some(20), "record.deleted", none()), (Some(10), "record.created", json!({"a": 1}))],
                None,
                vec![idle, stale],
            ),
            (
                vec![(Some(20), "record.deleted", none()), (Some(30), "record.created", json!({"a": 1}))],
                Some(json!({"a": 1})),
                vec![idle, fresh],
            ),
            // An event without a time is never stale, and no older than what it replaces.
            (
                vec![
                    (Some(20), "record.updated", json!({"a": 1})),
                    (None, "record.updated", json!({"a": 2})),
                    (Some(10), "record.updated", json!({"a": 3})),
                    (None, "record.deleted", none()),
                    (Some(10), "record.updated", json!({"a": 4})),
                    (Some(20), "record.updated", json!({"a": 5})),
                ],
                Some(json!({"a": 5})),
                vec![fresh, fresh, stale, fresh, stale, fresh],
            ),
            (
                vec![
                    (None, "record.updated", json!({"a": 1})),
                    (Some(10), "record.updated", json!({"a": 2})),
                ],
                Some(json!({"a": 2})),
                vec![fresh, fresh],
            ),
        ] {
            assert_eq!(run_timed(&events), (left, effects), "{events:?}");
        }
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
            // The same numbers, written differently.
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
                    // Some senders repeat the record's attributes in a deletion, which ignores them.
                    ("record.deleted", json!({"a": 1, "c": 2})),
                    ("record.deleted", none),
                    ("metadata.update", json!({"b": 1})),
                ],
                5,
                Some(json!({"b": 1})),
                vec![true, false, true],
            ),
            // There and back: two changes, although nothing is left of them.
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
