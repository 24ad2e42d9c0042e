//! A document as what a type is read from: structs are read from objects alone. Serde also reads them from arrays, by the order of their fields,
//! which is no part of the API.

use serde::Deserializer;
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{Error as _, IntoDeserializer, Unexpected, Visitor};
use serde_json::{Error, Map, Value};

/// Reads as [`Value`] does, but no struct from an array, at any depth.
pub(super) struct ObjectsOnly(pub(super) Value);

impl<'de> IntoDeserializer<'de, Error> for ObjectsOnly {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Types that contain no others are read by [`Value`].
macro_rules! by_value {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.0.$method(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for ObjectsOnly {
    type Error = Error;

    by_value! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32
        deserialize_f64 deserialize_char deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf
        deserialize_unit deserialize_identifier deserialize_ignored_any
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(items) => read_items(items, visitor),
            Value::Object(fields) => read_fields(fields, visitor),
            scalar => scalar.deserialize_any(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(_) => Err(Error::invalid_type(Unexpected::Seq, &visitor)),
            Value::Object(fields) => read_fields(fields, visitor),
            scalar => scalar.deserialize_struct(name, fields, visitor),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Object(fields) => read_fields(fields, visitor),
            other => other.deserialize_map(visitor),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(items) => read_items(items, visitor),
            other => other.deserialize_seq(visitor),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            some => visitor.visit_some(Self(some)),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.0.deserialize_unit_struct(name, visitor)
    }

    /// The API has no enums with fields.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }
}

fn read_items<'de, V: Visitor<'de>>(items: Vec<Value>, visitor: V) -> Result<V::Value, Error> {
    SeqDeserializer::new(items.into_iter().map(ObjectsOnly)).deserialize_any(visitor)
}

fn read_fields<'de, V: Visitor<'de>>(fields: Map<String, Value>, visitor: V) -> Result<V::Value, Error> {
    let fields = fields.into_iter().map(|(name, value)| (Value::String(name), ObjectsOnly(value)));
    MapDeserializer::new(fields).deserialize_any(visitor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::DeserializeOwned;
    use serde_json::json;
    use std::collections::BTreeMap;

    fn read<T: DeserializeOwned>(value: Value) -> Result<T, String> {
        T::deserialize(ObjectsOnly(value)).map_err(|error| error.to_string())
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Outer {
        inner: Option<Inner>,
        #[serde(default)]
        list: Vec<Inner>,
        #[serde(default)]
        by_name: BTreeMap<String, Inner>,
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Inner {
        n: i32,
    }

    #[test]
    fn structs_are_read_from_objects_alone() {
        let one = || Inner { n: 1 };
        let whole = json!({"inner": {"n": 1}, "list": [{"n": 1}], "by_name": {"a": {"n": 1}}});
        let by_name = BTreeMap::from([("a".to_owned(), one())]);
        assert_eq!(read(whole), Ok(Outer { inner: Some(one()), list: vec![one()], by_name }));
        for array in [
            json!([{"n": 1}, [], {}]),
            json!({"inner": [1]}),
            json!({"inner": null, "list": [[1]]}),
            json!({"inner": null, "by_name": {"a": [1]}}),
        ] {
            let refused = read::<Outer>(array.clone()).unwrap_err();
            assert!(refused.starts_with("invalid type: sequence, expected struct"), "{array}: {refused}");
        }
    }

    #[test]
    fn everything_else_is_read_as_from_a_value() {
        for value in [json!({"a": [1, [null, {"b": 1.5}]], "c": "d"}), json!([true, -1]), json!(null)] {
            assert_eq!(read::<Value>(value.clone()), Ok(value));
        }
        assert_eq!(read(json!([1, "a"])), Ok((1, "a".to_owned())));
        for (value, wrong) in [
            (json!("1"), "invalid type: string \"1\", expected i32"),
            (json!(1.5), "invalid type: floating point `1.5`, expected i32"),
            (json!([1]), "invalid type: sequence, expected i32"),
            (json!(null), "invalid type: null, expected i32"),
        ] {
            let of_value = serde_json::from_value::<i32>(value.clone()).unwrap_err().to_string();
            assert_eq!((read::<i32>(value), of_value.as_str()), (Err(wrong.to_owned()), wrong));
        }
        assert!(read::<model::id::AppId>(json!(vec![0; 16])).is_err(), "sixteen numbers are no id");
    }
}
