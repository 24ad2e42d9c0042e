//! What a customer may see of an integration.

use crate::{failure::FailureNote, rate_limit::RateLimitUse};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// One word for how an integration is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum SyncState {
    /// It has accepted nothing so far, and nothing is on its way: it gets what changes from now on, and the rest by a re-sync.
    NeverSynced,
    /// It has the newest version of every record that it is interested in.
    InSync,
    /// Changes are on their way.
    Syncing,
    /// Some changes fail and are tried again, or were given up. Or it lacks some and nothing is on its way: records are older than it is, or their
    /// changes were given up and purged, or called off. A re-sync brings them; `records_in_sync` says how many it has.
    Degraded,
    /// Nothing gets through.
    Failing,
    /// Someone stopped it.
    Paused,
}

/// The last failure, without anything internal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LastError {
    /// When.
    pub at: DateTime<Utc>,
    /// In words.
    pub message: String,
    /// HTTP status of the answer, if one came.
    pub response_status: Option<i16>,
}

/// `GET /integrations/{id}/status`. Counts are read at the call: a change already answered is in them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SyncStatus {
    /// One word.
    pub sync_state: SyncState,
    /// Pending jobs; those to be retried are apart.
    pub backlog: i64,
    /// Jobs being processed.
    pub processing: i64,
    /// Jobs that wait for another attempt.
    pub to_be_retried: i64,
    /// Jobs given up.
    pub dead_letters: i64,
    /// Age of the oldest claimable job; null when none waits.
    pub oldest_pending_age_seconds: Option<i64>,
    /// Seconds until nothing is left: at the pace of the last two minutes, and no sooner than the rate limit lets go. Where no pace can be
    /// measured (the first ten seconds of some work, or while more arrives than is done) the rate limit alone, which is the least it
    /// can take. Null without a rate limit then, while nothing gets done, and while paused.
    pub eta_seconds: Option<i64>,
    /// When it last accepted something.
    pub last_success_at: Option<DateTime<Utc>>,
    /// The last failure.
    pub last_error: Option<LastError>,
    /// Records it is interested in.
    pub records_total: i64,
    /// Records of which it has the newest version (no live job and no dead letter stands for them).
    pub records_in_sync: i64,
    /// Jobs to be retried, by attempts made: the first number is those after one attempt.
    pub retry_pyramid: Vec<i64>,
    /// Use of the (tightest) limit; null when there is none.
    pub rate_limit: Option<RateLimitUse>,
    /// What the platform's staff says about what fails now, the newest first; absent when it says nothing.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<FailureNote>,
}
