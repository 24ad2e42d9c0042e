//! Workers: processes that claim jobs.

use crate::id::WorkerId;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// One start of one process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Worker {
    /// UUID of the process start.
    pub id: WorkerId,
    /// Host it runs on.
    pub host: String,
    /// Its process id there.
    pub pid: i32,
    /// Its version of Headgate.
    pub version: String,
    /// Jobs it may run at once.
    pub slots: i32,
    /// Jobs it ran at its last heartbeat.
    pub busy: i32,
    /// Whether it claims nothing more.
    pub is_draining: bool,
    /// Whether it holds the leader's lease.
    pub is_leader: bool,
    /// When it started.
    pub started_at: DateTime<Utc>,
    /// When it last said that it lives.
    pub heartbeat_at: DateTime<Utc>,
}
