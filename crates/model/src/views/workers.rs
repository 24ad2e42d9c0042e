//! The page of the worker processes.

use crate::worker::Worker;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// All processes, and the state of maintenance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkersPage {
    /// Live ones and those lost lately, latest start first.
    pub workers: Vec<Worker>,
    /// Empty while there is no leader.
    pub services: Vec<ServiceReport>,
    /// When they were read.
    pub as_of: DateTime<Utc>,
}

/// A maintenance service that the leader runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServiceReport {
    /// As in logs and metrics, such as `lease_recovery`.
    pub name: String,
    /// Failures since the last successful run.
    pub failures_in_a_row: u32,
    /// Whether it works, apart from passing failures.
    pub is_healthy: bool,
    /// When a run last succeeded.
    pub succeeded_at: Option<DateTime<Utc>>,
    /// How long the last run took.
    pub took_ms: i64,
}
