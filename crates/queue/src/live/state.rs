//! What the hub knows at a moment.

use crate::store::stats::Measures;
use chrono::{DateTime, Utc};
use model::{actor::Scope, id::IntegrationId, stats::Snapshot};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Of which apps and which one integration.
type Part = (Scope, Option<IntegrationId>);

/// A snapshot, how old it is, and why there is no newer one. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LiveState {
    /// The newest; none before the first was read.
    pub snapshot: Option<Arc<Snapshot>>,
    /// The same as JSON, ready to be sent; `null` before the first was read.
    pub json: Arc<str>,
    /// Parts of it as JSON, each made when the first of its viewers asks.
    pub(super) parts: Arc<Mutex<HashMap<Part, Arc<str>>>>,
    /// What it changed in the one before, as JSON, and when that was; none where there was none.
    pub changes: Option<(DateTime<Utc>, Arc<str>)>,
    /// What was measured besides, and when; none before the first was read.
    pub measures: Option<(DateTime<Utc>, Arc<Measures>)>,
    /// Set while the database cannot be asked.
    pub error: Option<Outage>,
    /// How old the snapshot was when it was last looked at, and when that was.
    pub(super) aged: Option<(Duration, Instant)>,
}

impl LiveState {
    pub(super) fn empty() -> Self {
        Self {
            snapshot: None,
            json: Arc::from("null"),
            parts: Arc::default(),
            changes: None,
            measures: None,
            error: None,
            aged: None,
        }
    }

    /// The snapshot narrowed, as JSON: made once, however many look at it. None before the first was read.
    #[must_use]
    pub fn part(&self, scope: Scope, integration_id: Option<IntegrationId>) -> Option<Arc<str>> {
        let snapshot = self.snapshot.as_ref()?;
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = parts.get(&(scope, integration_id)) {
            return Some(Arc::clone(made));
        }
        let json: Arc<str> = serde_json::to_string(&snapshot.narrowed(scope, integration_id)).ok()?.into();
        parts.insert((scope, integration_id), Arc::clone(&json));
        Some(json)
    }

    /// How old the snapshot is now, measured on the database's clock when it was read and on ours since.
    #[must_use]
    pub fn age(&self) -> Option<Duration> {
        self.aged.map(|(age, looked_at)| age + looked_at.elapsed())
    }

    /// Whether the numbers may not be true any more: the database is away, or nobody samples.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.error.is_some() || self.age().is_none_or(|age| age > Duration::from_secs(10))
    }
}

/// The database cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Since when.
    pub since: DateTime<Utc>,
    /// Why, in words for operators.
    pub message: String,
}
