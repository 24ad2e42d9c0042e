//! How the maintenance services do, as the leader tells everyone.

use serde::{Deserialize, Serialize};

/// One maintenance service as the leader sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServiceState {
    /// Its name.
    pub name: String,
    /// Runs that went well, since this process leads or did before.
    pub runs: u64,
    /// Runs that did not.
    pub failures: u64,
    /// Failures since the last run that went well.
    pub failures_in_a_row: u32,
    /// Rows it could not move and passed over.
    pub passed_over: u64,
    /// How long ago the last run went well.
    pub seconds_since_success: Option<f64>,
    /// How long the last run took.
    pub took_seconds: f64,
    /// Whether it does its work, apart from passing troubles.
    pub is_healthy: bool,
}
