//! Fields of a PATCH: an absent field is not changed, null removes its value.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A change of one optional field.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Change<T> {
    /// Absent: not changed.
    #[default]
    Keep,
    /// null: the value is removed.
    Clear,
    /// A new value.
    Set(T),
}

impl<T> Change<T> {
    /// Whether the field is not changed.
    pub fn is_keep(&self) -> bool {
        matches!(self, Self::Keep)
    }

    /// The value after the change.
    pub fn apply(self, before: Option<T>) -> Option<T> {
        match self {
            Self::Keep => before,
            Self::Clear => None,
            Self::Set(value) => Some(value),
        }
    }

    /// The new value, if there is one.
    pub fn set(&self) -> Option<&T> {
        match self {
            Self::Set(value) => Some(value),
            Self::Keep | Self::Clear => None,
        }
    }
}

/// For a field that cannot be null: a plain `Option` would silently read null as "not changed". Use with
/// `#[serde(default, deserialize_with = "patch::not_null")]`.
///
/// # Errors
/// For null, and for anything that is not a `T`.
pub fn not_null<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Use with `#[serde(default)]`, which handles the absent field.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Change<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::deserialize(deserializer)?.map_or(Self::Clear, Self::Set))
    }
}

/// Use with `#[serde(skip_serializing_if = "Change::is_keep")]`.
impl<T: Serialize> Serialize for Change<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Set(value) => serializer.serialize_some(value),
            Self::Keep | Self::Clear => serializer.serialize_none(),
        }
    }
}
