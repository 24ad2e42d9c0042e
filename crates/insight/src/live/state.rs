//! The hub's state at one moment.

use crate::store::stats::Measures;
use chrono::{DateTime, Utc};
use model::{actor::Scope, id::IntegrationId, stats::Snapshot};
use queue::mutex::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

type Part = (Scope, Option<IntegrationId>);

/// A snapshot, how old it is, and why there is no newer one. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LiveState {
    /// The newest snapshot; none before the first was read.
    pub snapshot: Option<Arc<Snapshot>>,
    /// The snapshot as JSON; `null` before the first was read.
    pub json: Arc<str>,
    /// Parts of the snapshot as JSON, each made when its first viewer asks.
    pub(super) parts: Arc<Mutex<HashMap<Part, Arc<str>>>>,
    /// The time of the previous snapshot, and the changes since then as JSON; none for the first snapshot.
    pub changes: Option<(DateTime<Utc>, Arc<str>)>,
    /// Other measurements and their time; none before the first were read.
    pub measures: Option<(DateTime<Utc>, Arc<Measures>)>,
    /// Set while the database is away.
    pub error: Option<Outage>,
    /// The age of the snapshot when it was last read, and when that was.
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

    /// The snapshot narrowed to these apps and this integration, as JSON, made once for all viewers. None before the first was read.
    #[must_use]
    pub fn part(&self, scope: Scope, integration_id: Option<IntegrationId>) -> Option<Arc<str>> {
        let snapshot = self.snapshot.as_ref()?;
        let mut parts = lock(&self.parts);
        if let Some(made) = parts.get(&(scope, integration_id)) {
            return Some(Arc::clone(made));
        }
        let json: Arc<str> = serde_json::to_string(&snapshot.narrowed(scope, integration_id)).ok()?.into();
        parts.insert((scope, integration_id), Arc::clone(&json));
        Some(json)
    }

    /// The age of the snapshot: measured on the database's clock when it was read, and on ours since then.
    #[must_use]
    pub fn age(&self) -> Option<Duration> {
        self.aged.map(|(age, read_at)| age + read_at.elapsed())
    }

    /// Whether the numbers may be outdated: the database is away, or no process samples.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.error.is_some() || self.age().is_none_or(|age| age > Duration::from_secs(10))
    }
}

/// The database is away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Since when.
    pub since: DateTime<Utc>,
    /// Why, in words for operators.
    pub message: String,
}
