//! JSON text read as a `Value`, a name given twice in one object refused: serde_json would let the last one win, other readers of the same
//! text the first (RFC 8259, 4; I-JSON, RFC 7493, forbids it). The place is put together only when there is something to refuse.

use model::json::escape;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value, map::Entry};
use std::{cell::RefCell, fmt};

/// Why there is no document.
#[derive(Debug)]
pub(super) enum Unreadable {
    /// What the parser says.
    Json(serde_json::Error),
    /// An object names something twice; a JSON Pointer (RFC 6901).
    Twice(String),
}

/// # Errors
/// When the bytes are no JSON, or an object names something twice.
pub(super) fn read(bytes: &[u8]) -> Result<Value, Unreadable> {
    let twice = RefCell::default();
    let mut parser = serde_json::Deserializer::from_slice(bytes);
    let read =
        Reader { twice: &twice }.deserialize(&mut parser).and_then(|value| parser.end().map(|()| value));
    read.map_err(|error| match twice.into_inner() {
        Some(steps) => Unreadable::Twice(steps.iter().rev().fold(String::new(), |mut pointer, step| {
            pointer.push('/');
            pointer.push_str(step);
            pointer
        })),
        None => Unreadable::Json(error),
    })
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    /// The steps to the name that was given twice, the innermost first.
    twice: &'a RefCell<Option<Vec<String>>>,
}

impl Reader<'_> {
    /// On the way back up from what is refused.
    fn passed(self, step: impl FnOnce() -> String) {
        if let Some(steps) = self.twice.borrow_mut().as_mut() {
            steps.push(step());
        }
    }
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut read = Vec::new();
        while let Some(item) =
            items.next_element_seed(self).inspect_err(|_| self.passed(|| read.len().to_string()))?
        {
            read.push(item);
        }
        Ok(Value::Array(read))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut read = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            let value = fields.next_value_seed(self).inspect_err(|_| self.passed(|| escape(&name)))?;
            match read.entry(name) {
                Entry::Vacant(entry) => {
                    entry.insert(value);
                }
                Entry::Occupied(entry) => {
                    *self.twice.borrow_mut() = Some(vec![escape(entry.key())]);
                    return Err(A::Error::custom("a name is given twice"));
                }
            }
        }
        Ok(Value::Object(read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_given_twice_is_refused_with_its_place() {
        for (text, place) in [
            (r#"{"a": 1, "a": 1}"#, "/a"),
            (
                r#"[{"b": 1}, {"attributes": {"x/y": [0, {"~": 1, "n": 2, "~": 3}]}}]"#,
                "/1/attributes/x~1y/1/~0",
            ),
            (r#"{"é": 1, "\u00e9": 2}"#, "/é"),
            (r#"{"": 1, "": 2"#, "/"),
        ] {
            let Err(Unreadable::Twice(pointer)) = read(text.as_bytes()) else { panic!("{text}") };
            assert_eq!(pointer, place);
        }
    }

    #[test]
    fn everything_else_reads_as_serde_json_reads_it() {
        for text in [
            r#"{"a": {"a": [1, -1, 1.5, 1e300, 18446744073709551616, -0.0, true, null, "x\n\u00e9"]}, "b": {}, "c": []}"#,
            "[]",
            "7",
            "\"x\"",
            "null",
            "",
            "{\"a\":",
            "[1,]",
            "{} x",
            "1e999",
            "\"\\ud800\"",
            "{1: 2}",
        ] {
            match (read(text.as_bytes()), serde_json::from_str::<Value>(text)) {
                (Ok(ours), Ok(theirs)) => assert_eq!(ours, theirs, "{text}"),
                (Err(Unreadable::Json(ours)), Err(theirs)) => {
                    assert_eq!(ours.to_string(), theirs.to_string(), "{text}");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
    }
}
