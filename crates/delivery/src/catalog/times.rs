//! When what a record holds occurred, as far as events said: an older event does not overwrite what a newer one set.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// Times of a record. Those of attributes are kept where they are later than that of the whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Times {
    /// Of the newest event that was about all attributes: a replacement, a deletion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    whole: Option<DateTime<Utc>>,
    /// By attribute.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    attributes: BTreeMap<String, DateTime<Utc>>,
}

impl Times {
    /// Whether what an event of that time says of all attributes was said anew since.
    pub(super) fn is_whole_newer(&self, at: DateTime<Utc>) -> bool {
        self.whole.is_some_and(|whole| whole > at)
    }

    /// The same of one attribute.
    pub(super) fn is_newer(&self, name: &str, at: DateTime<Utc>) -> bool {
        self.is_whole_newer(at) || self.attributes.get(name).is_some_and(|set_at| *set_at > at)
    }

    /// The same of any of them.
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

    /// By an event that does not say when it occurred: not before anything it replaces.
    pub(super) fn set_whole_now(&mut self) {
        self.whole = self.attributes.values().copied().chain(self.whole).max();
        self.attributes.clear();
    }
}
