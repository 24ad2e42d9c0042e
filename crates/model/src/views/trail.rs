//! The records page: what a search text stands for, and every job about it.

use super::names::Names;
use crate::trail::Trail;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// A search of the records page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrailPage {
    /// What was found, without payloads and attributes. None while nothing was searched.
    pub trail: Option<Trail>,
    /// Names of the integrations in it.
    pub names: Names,
    /// When it was read.
    pub as_of: DateTime<Utc>,
}

impl TrailPage {
    /// The page before a search.
    #[must_use]
    pub fn without_search(now: DateTime<Utc>) -> Self {
        Self { trail: None, names: Names::default(), as_of: now }
    }
}
