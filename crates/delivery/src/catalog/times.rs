//! When the values of a record occurred, as far as events said: an older event does not overwrite what a newer one set.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// Times of a record. An attribute's is kept only while it is later than that of the whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Times {
    /// Of the newest event that was about all attributes: a replacement, a deletion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    whole: Option<DateTime<Utc>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    attributes: BTreeMap<String, DateTime<Utc>>,
}

impl Times {
    /// Whether all attributes were set by an event that occurred after that time.
    pub(super) fn is_whole_newer(&self, at: DateTime<Utc>) -> bool {
        self.whole.is_some_and(|whole| whole > at)
    }

    /// Whether this attribute was.
    pub(super) fn is_newer(&self, name: &str, at: DateTime<Utc>) -> bool {
        self.is_whole_newer(at) || self.attributes.get(name).is_some_and(|set_at| *set_at > at)
    }

    /// Whether any attribute was.
    pub(super) fn is_any_newer(&self, at: DateTime<Utc>) -> bool {
        self.is_whole_newer(at) || self.attributes.values().any(|set_at| *set_at > at)
    }

    pub(super) fn set(&mut self, name: &str, at: DateTime<Utc>) {
        self.attributes.insert(name.to_owned(), at);
    }

    pub(super) fn set_whole(&mut self, at: DateTime<Utc>) {
        self.whole = Some(at);
        self.attributes.retain(|_, set_at| *set_at > at);
    }

    /// For an event that does not say when it occurred: not before anything it replaces.
    pub(super) fn set_whole_now(&mut self) {
        self.whole = self.attributes.values().copied().chain(self.whole).max();
        self.attributes.clear();
    }
}
