//! Filter on values in a payload, by path.

use crate::rules::masking::MASK;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, fmt};

const MAX_VALUES: usize = 8;
const MAX_STEPS: usize = 16;
/// Prefix of a query parameter with a path.
pub(crate) const PAYLOAD_PREFIX: &str = "payload.";

/// Values by path: `{"order.id": "17"}` finds payloads whose `order` has the `id` 17, as a number or a string. In a query string
/// `payload.order.id=17`, or `payload=order.id=17` for forms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(value_type = std::collections::BTreeMap<String, String>))]
pub struct PayloadMatch(BTreeMap<String, String>);

impl PayloadMatch {
    /// Paths with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(path, value)| (path.as_str(), value.as_str()))
    }

    /// Masks every value. The paths stay, so that a reader still sees what was asked for.
    pub fn mask(&mut self) {
        self.0.values_mut().for_each(|value| MASK.clone_into(value));
    }

    /// Masks the values of these paths.
    pub fn mask_paths(&mut self, paths: &[String]) {
        for path in paths {
            if let Some(value) = self.0.get_mut(path) {
                MASK.clone_into(value);
            }
        }
    }

    /// For each path the documents of which a payload must contain one: the value as a string and, if it can be read as a number, a boolean or
    /// null, as that too.
    #[must_use]
    pub fn documents(&self) -> Vec<Vec<Value>> {
        self.iter()
            .map(|(path, value)| {
                let plain = serde_json::from_str::<Value>(value)
                    .ok()
                    .filter(|plain| plain.is_number() || plain.is_boolean() || plain.is_null());
                let text = Value::String(value.to_owned());
                std::iter::once(text).chain(plain).map(|leaf| nested(path, leaf)).collect()
            })
            .collect()
    }

    fn try_new(pairs: BTreeMap<String, String>) -> Result<Self, String> {
        let is_path =
            |path: &str| path.split('.').count() <= MAX_STEPS && path.split('.').all(|step| !step.is_empty());
        if let Some(path) = pairs.keys().find(|path| !is_path(path)) {
            return Err(format!(
                "{path:?} is not a path: write up to {MAX_STEPS} steps separated by dots, such as order.id"
            ));
        }
        if pairs.is_empty() || pairs.len() > MAX_VALUES {
            return Err(format!("must have 1 to {MAX_VALUES} values"));
        }
        Ok(Self(pairs))
    }
}

fn nested(path: &str, leaf: Value) -> Value {
    path.rsplit('.').fold(leaf, |inner, step| Value::Object(Map::from_iter([(step.to_owned(), inner)])))
}

/// Combines all `payload.…` parameters of a query into the single parameter that the filter reads.
#[must_use]
pub fn gather(pairs: Vec<(String, String)>) -> Vec<(String, String)> {
    let (paths, mut others): (Vec<_>, Vec<_>) =
        pairs.into_iter().partition(|(name, _)| name.starts_with(PAYLOAD_PREFIX));
    if paths.is_empty() {
        return others;
    }
    let mut object = Map::new();
    for (name, value) in paths {
        // Two values for one path can never match: the second stays, and is refused as an unknown parameter.
        match object.get(&name[PAYLOAD_PREFIX.len()..]) {
            Some(Value::String(before)) if *before != value => others.push((name, value)),
            _ => {
                object.insert(name[PAYLOAD_PREFIX.len()..].to_owned(), Value::String(value));
            }
        }
    }
    others.push(("payload".to_owned(), Value::Object(object).to_string()));
    others
}

impl Serialize for PayloadMatch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PayloadMatch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

/// Reads an object, or from a query string its JSON text or one `path=value`.
struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = PayloadMatch;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("values by path, such as order.id=17")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<PayloadMatch, E> {
        let pairs = if text.starts_with('{') {
            serde_json::from_str(text).map_err(E::custom)?
        } else {
            let (path, value) = text
                .split_once('=')
                .ok_or_else(|| E::custom("must be a path, = and a value, such as order.id=17"))?;
            BTreeMap::from([(path.trim().to_owned(), value.trim().to_owned())])
        };
        PayloadMatch::try_new(pairs).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PayloadMatch, A::Error> {
        let mut pairs = BTreeMap::new();
        while let Some((path, value)) = map.next_entry()? {
            pairs.insert(path, value);
        }
        PayloadMatch::try_new(pairs).map_err(A::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_path_becomes_the_documents_that_contain_it() {
        let read = |text: &str| serde_json::from_value::<PayloadMatch>(json!(text));
        let one = read("order.id=17").unwrap();
        assert_eq!(one.documents(), [[json!({"order": {"id": "17"}}), json!({"order": {"id": 17}})]]);
        assert_eq!(one, serde_json::from_value(json!({"order.id": "17"})).unwrap());
        assert_eq!(read("sku=a=b").unwrap().documents(), [[json!({"sku": "a=b"})]]);
        for text in ["", "order.id", "=17", "a..b=1", "{}", "{\"a\":1}"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn parameters_of_paths_are_gathered() {
        let pairs = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect::<Vec<_>>()
        };
        let given = pairs(&[("status", "failed"), ("payload.order.id", "17"), ("payload.sku", "x")]);
        let gathered = pairs(&[("status", "failed"), ("payload", r#"{"order.id":"17","sku":"x"}"#)]);
        assert_eq!(gather(given), gathered);
        let twice = pairs(&[("payload.a", "1"), ("payload.a", "2")]);
        assert_eq!(gather(twice)[0].0, "payload.a");
    }
}
