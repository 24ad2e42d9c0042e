//! Builds the value, and refuses as it goes.

use super::Why;
use super::numbers::is_large;
use super::progress::{MAP_BYTES, NAME_BYTES, Progress};
use model::json::{MAX_RECORD_BYTES, escape};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value, map::Entry};
use std::fmt;

/// The fields whose values have a limit of their own ([`MAX_RECORD_BYTES`]), anywhere in a request.
const PAYLOADS: [&str; 3] = ["attributes", "data", "payload"];

#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) progress: &'a Progress<'a>,
}

impl Reader<'_> {
    /// Adds a step to the path, while the error travels up from what is refused.
    fn step(self, step: impl FnOnce() -> String) {
        self.progress.steps.borrow_mut().push(step());
    }

    /// Reads the value of a field; a payload is counted as a whole.
    fn field<'de, A: MapAccess<'de>>(self, name: &str, fields: &mut A) -> Result<Value, A::Error> {
        let payload = &self.progress.payload;
        if payload.get().is_some() || !PAYLOADS.contains(&name) {
            return fields.next_value_seed(self);
        }
        payload.set(Some(0));
        let read = fields.next_value_seed(self);
        if payload.replace(None).is_some_and(|bytes| bytes > MAX_RECORD_BYTES) {
            // The payload is too large, not the part of it that was read last.
            self.progress.steps.borrow_mut().clear();
        }
        read
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

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        self.progress.value(4)?;
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.progress.value(1)?;
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.progress.value(1)?;
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        self.progress.value(1)?;
        if is_large(value) {
            let nth = self.progress.large_numbers.get();
            if self.progress.refused == Some(nth) {
                return Err(self.progress.refuse(Why::Number));
            }
            self.progress.large_numbers.set(nth + 1);
        }
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.progress.value(value.len() + 2)?;
        Ok(Value::String(value.to_owned()))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.progress.value(4)?;
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.progress.value(1)?;
        let mut read = Vec::new();
        while let Some(item) =
            items.next_element_seed(self).inspect_err(|_| self.step(|| read.len().to_string()))?
        {
            read.push(item);
        }
        Ok(Value::Array(read))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        self.progress.value(1)?;
        let mut read = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            let map = if read.is_empty() { MAP_BYTES } else { 0 };
            // Plus quotes and colon in the text.
            self.progress.takes(map + NAME_BYTES + name.len(), name.len() + 3)?;
            let value = self.field(&name, &mut fields).inspect_err(|_| self.step(|| escape(&name)))?;
            match read.entry(name) {
                Entry::Vacant(entry) => {
                    entry.insert(value);
                }
                Entry::Occupied(entry) => {
                    self.step(|| escape(entry.key()));
                    return Err(self.progress.refuse(Why::Twice));
                }
            }
        }
        Ok(Value::Object(read))
    }
}
