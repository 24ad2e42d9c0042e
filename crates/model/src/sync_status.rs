//! The status of an integration, as its app may see it.

use crate::{failure::FailureNote, rate_limit::RateLimitUse};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// State of an integration's synchronisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum SyncState {
    /// It has accepted nothing yet, and there are no jobs: new changes will be sent, older records need a re-sync.
    NeverSynced,
    /// It has the newest version of all its records.
    InSync,
    /// Changes are being sent.
    Syncing,
    /// Some changes fail and are retried, or are dead letters. Or it lacks records without having jobs for them: they are older than the integration,
    /// or their jobs were purged or cancelled. A re-sync sends them; `records_in_sync` is the number it has.
    Degraded,
    /// All attempts fail.
    Failing,
    /// It is paused.
    Paused,
}

/// The last failure, without internals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LastError {
    /// When.
    pub at: DateTime<Utc>,
    /// As a sentence.
    pub message: String,
    /// HTTP status of the answer, if one came.
    pub response_status: Option<i16>,
}

/// `GET /integrations/{id}/status`. Counts are current: they include every change that was already answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SyncStatus {
    /// State.
    pub sync_state: SyncState,
    /// Pending jobs, without those to be retried.
    pub backlog: i64,
    /// Jobs being processed.
    pub processing: i64,
    /// Jobs that wait for another attempt.
    pub to_be_retried: i64,
    /// Dead letters.
    pub dead_letters: i64,
    /// Age of the oldest claimable job; null when none waits.
    pub oldest_pending_age_seconds: Option<i64>,
    /// Estimated seconds until the backlog clears: at the rate of the last two minutes, but no sooner than the rate limit allows. Where no rate can
    /// be measured (in the first ten seconds of work, or while more jobs arrive than are done), by the rate limit alone, which is a lower bound.
    /// Null then without a rate limit, while nothing is done, and while paused.
    pub eta_seconds: Option<i64>,
    /// When it last accepted something.
    pub last_success_at: Option<DateTime<Utc>>,
    /// The last failure.
    pub last_error: Option<LastError>,
    /// Records that it should have.
    pub records_total: i64,
    /// Records of which it has the newest version (without a live job or dead letter).
    pub records_in_sync: i64,
    /// Jobs to be retried, by attempts made: the first number is those after one attempt.
    pub retry_pyramid: Vec<i64>,
    /// Use of the (tightest) limit; null when there is none.
    pub rate_limit: Option<RateLimitUse>,
    /// Notes published by operators about current failures, newest first; absent when there are none.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<FailureNote>,
}
