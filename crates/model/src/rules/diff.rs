//! The difference between a record and what an external system last accepted of it.

use crate::{attributes::Attributes, json::equal};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The difference between two sets of attributes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Changes {
    /// Attributes to set, with their complete new values.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub set: Attributes,
    /// Attributes to remove.
    pub unset: Vec<String>,
}

impl Changes {
    /// Whether there is no difference.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.unset.is_empty()
    }

    /// All attributes, for a system that has none.
    #[must_use]
    pub fn all(attributes: &Attributes) -> Self {
        Self { set: attributes.clone(), unset: Vec::new() }
    }

    /// From the accepted attributes to the current ones. Each attribute is compared as a whole: a changed member of a nested object sends the whole
    /// object. Numbers are compared by value ([`equal`]).
    #[must_use]
    pub fn between(accepted: &Attributes, now: &Attributes) -> Self {
        let set = now
            .iter()
            .filter(|(key, value)| !accepted.get(*key).is_some_and(|accepted| equal(accepted, value)))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let unset = accepted.keys().filter(|key| !now.contains_key(*key)).cloned().collect();
        Self { set, unset }
    }

    /// Applies the changes to a copy, as the receiver does.
    pub fn apply_to(&self, copy: &mut Attributes) {
        for key in &self.unset {
            copy.remove(key);
        }
        for (key, value) in &self.set {
            copy.insert(key.clone(), value.clone());
        }
    }

    /// As a JSON merge patch (RFC 7396). `None` when that cannot express it: null means removal there, so it can set no attribute, and no member of
    /// an object, to null.
    #[must_use]
    pub fn to_merge_patch(&self, accepted: &Attributes) -> Option<Attributes> {
        let mut patch = Attributes::new();
        for (key, value) in &self.set {
            patch.insert(key.clone(), merge_value(accepted.get(key), value)?);
        }
        for key in &self.unset {
            patch.insert(key.clone(), Value::Null);
        }
        Some(patch)
    }
}

/// The patch from `before` to `after`: merging recurses into objects, so removed members have to be listed with null.
fn merge_value(before: Option<&Value>, after: &Value) -> Option<Value> {
    match (before, after) {
        (_, Value::Null) => None,
        (before, Value::Object(after)) => {
            let empty = Attributes::new();
            let before = before.and_then(Value::as_object).unwrap_or(&empty);
            let mut patch = Attributes::new();
            for (key, value) in after {
                if !before.get(key).is_some_and(|before| equal(before, value)) {
                    patch.insert(key.clone(), merge_value(before.get(key), value)?);
                }
            }
            for key in before.keys().filter(|key| !after.contains_key(*key)) {
                patch.insert(key.clone(), Value::Null);
            }
            Some(Value::Object(patch))
        }
        (_, value) => Some(value.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: Value) -> Attributes {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn applying_the_difference_makes_the_copies_equal() {
        for (accepted, now, set, unset) in [
            (json!({}), json!({"a": 1}), json!({"a": 1}), vec![]),
            (json!({"a": 1}), json!({"a": 1}), json!({}), vec![]),
            (json!({"a": 1, "b": 2}), json!({"a": 3}), json!({"a": 3}), vec!["b"]),
            (json!({"a": {"x": 1, "y": 2}}), json!({"a": {"x": 1}}), json!({"a": {"x": 1}}), vec![]),
            (json!({"a": 1}), json!({"a": null}), json!({"a": null}), vec![]),
            (json!({"a": [1, 2]}), json!({"a": [2, 1]}), json!({"a": [2, 1]}), vec![]),
        ] {
            let (accepted, now) = (object(accepted), object(now));
            let changes = Changes::between(&accepted, &now);
            assert_eq!(
                changes,
                Changes { set: object(set), unset: unset.into_iter().map(str::to_owned).collect() }
            );
            let mut copy = accepted;
            changes.apply_to(&mut copy);
            assert_eq!(copy, now);
        }
    }

    #[test]
    fn another_notation_of_a_number_is_no_difference() {
        let (accepted, now) =
            (object(json!({"a": 5, "b": {"x": 0}})), object(json!({"a": 5.0, "b": {"x": -0.0}})));
        assert!(Changes::between(&accepted, &now).is_empty());
        let now = object(json!({"b": {"x": 0.0, "y": 1}}));
        let patch = Changes::between(&accepted, &now).to_merge_patch(&accepted);
        assert_eq!(patch.map(Value::Object), Some(json!({"a": null, "b": {"y": 1}})));
    }

    #[test]
    fn a_merge_patch_lists_removed_members_and_cannot_set_null() {
        for (accepted, now, patch) in [
            (json!({"a": 1, "b": 2}), json!({"a": 3}), Some(json!({"a": 3, "b": null}))),
            (json!({"a": {"x": 1, "y": 2}}), json!({"a": {"x": 5}}), Some(json!({"a": {"x": 5, "y": null}}))),
            (json!({"a": 1}), json!({"a": {"x": {"y": 1}}}), Some(json!({"a": {"x": {"y": 1}}}))),
            (json!({"a": 1}), json!({"a": null}), None),
            (json!({}), json!({"a": {"x": null}}), None),
        ] {
            let (accepted, now) = (object(accepted), object(now));
            let changes = Changes::between(&accepted, &now);
            assert_eq!(changes.to_merge_patch(&accepted).map(Value::Object), patch);
        }
    }
}
