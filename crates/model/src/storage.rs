//! What the database keeps, for how long, and how much room it takes.

use crate::retention::Retained;
use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

/// `GET /retention`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Retention {
    /// How long finished jobs and attempts stay, in seconds: `HEADGATE_RETENTION` of the process that answers.
    pub retention_seconds: i64,
    /// What goes by itself after a time that can be set, and after how long: by the settings of the process that answers.
    pub rules: Vec<RetentionRule>,
    /// Room the database's tables and indexes take, in bytes.
    pub database_bytes: i64,
    /// What is kept, largest first.
    pub kept: Vec<Kept>,
}

/// How long one thing is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RetentionRule {
    /// What.
    pub what: Retained,
    /// The setting that says so.
    pub setting: String,
    /// How long, in seconds.
    pub seconds: i64,
    /// How long when the setting is not there, in seconds.
    pub default_seconds: i64,
}

/// One kind of thing that is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Kept {
    /// Which.
    pub what: KeptKind,
    /// For how long after its end or its moment, in seconds; null: until somebody takes it away.
    pub seconds: Option<i64>,
    /// Room its tables and indexes take, in bytes.
    pub bytes: i64,
    /// Rows, as Postgres estimated them when it last looked; null before that.
    pub estimated_rows: Option<i64>,
    /// The oldest day (UTC) that is still there, of what is kept by the day.
    pub oldest_day: Option<NaiveDate>,
}

/// What is kept.
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
    /// Jobs that were given up.
    DeadLetters,
    /// The catalog Headgate owns a copy of, and what was last sent of it.
    Records,
    /// Re-syncs and their batches.
    Resyncs,
    /// Bulk actions, and for a day what they changed.
    Operations,
    /// Numbers over time: rollups and snapshots.
    Statistics,
    /// Who did what.
    AuditLog,
    /// Everything else: settings, sessions, idempotency keys, leases.
    Other,
}
