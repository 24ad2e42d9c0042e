//! What the database stores, for how long, and how much space it takes.

use crate::retention::Retained;
use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

/// `GET /retention`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Retention {
    /// How long finished jobs and attempts are kept, in seconds: `HEADGATE_RETENTION` of the process that answers.
    pub retention_seconds: i64,
    /// What is deleted after a configurable time, by the settings of the process that answers.
    pub rules: Vec<RetentionRule>,
    /// Size of all tables and indexes, in bytes.
    pub database_bytes: i64,
    /// What is stored, largest first.
    pub kept: Vec<Kept>,
}

/// One retention setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RetentionRule {
    /// What is deleted.
    pub what: Retained,
    /// Name of the setting.
    pub setting: String,
    /// Its value, in seconds.
    pub seconds: i64,
    /// Its default, in seconds.
    pub default_seconds: i64,
}

/// One kind of stored data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Kept {
    /// Kind.
    pub what: KeptKind,
    /// How long it is kept after its end or its time, in seconds; null: until somebody deletes it.
    pub seconds: Option<i64>,
    /// Size of its tables and indexes, in bytes.
    pub bytes: i64,
    /// Number of rows, as estimated by Postgres at the last analyze; null before the first.
    pub estimated_rows: Option<i64>,
    /// The oldest remaining day (UTC), for data that is partitioned by day.
    pub oldest_day: Option<NaiveDate>,
}

/// Kinds of stored data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum KeptKind {
    /// Jobs that wait or run.
    LiveJobs,
    /// Completed and cancelled jobs.
    FinishedJobs,
    /// Failed attempts.
    Attempts,
    /// Dead letters.
    DeadLetters,
    /// Records, and their sent state.
    Records,
    /// Re-syncs and their batches.
    Resyncs,
    /// Bulk actions, and for a day what they changed.
    Operations,
    /// Rollups and snapshots.
    Statistics,
    /// The audit log.
    AuditLog,
    /// Everything else: settings, sessions, idempotency keys, leases.
    Other,
}
