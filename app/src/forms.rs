//! What the larger forms send, as it was typed. Server functions take these as arguments, and `state` and `server` read them, so they are below
//! all three.

use model::integration_bulk::IntegrationBulkAction;
use serde::{Deserialize, Serialize};

/// Options of a bulk action; an empty field is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BulkOptions {
    /// For the audit log.
    pub reason: String,
    pub rate_per_second: String,
    /// How long the action can be withdrawn before it begins.
    pub hold_seconds: String,
}

/// A bulk action on integrations, as the confirmation dialog sends it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct IntegrationBulk {
    pub action: IntegrationBulkAction,
    /// The query string of the dialog, which selects by id or by filter.
    pub query: String,
    /// The count that the dialog showed.
    pub matched: i64,
    /// With a limit: requests; empty removes the limit.
    #[serde(default)]
    pub requests: String,
    /// With a limit: the window.
    #[serde(default)]
    pub per_seconds: String,
}

/// Limits of an integration. An empty field removes the setting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LimitsForm {
    /// Requests in each window, a row for each limit; empty rows are skipped.
    pub requests: Vec<String>,
    pub per_seconds: Vec<String>,
    /// Jobs at once.
    pub max_concurrency: String,
    /// Seconds of one attempt; empty: the default.
    pub timeout_seconds: String,
    /// Attempts of a job; empty: the default.
    pub max_attempts: String,
    /// Waits between attempts; empty: the default.
    pub retry_schedule: String,
    /// Seconds without a change after which a record is sent; empty: at once.
    pub debounce_seconds: String,
    /// The longest that the first change waits; empty: as `debounce_seconds`.
    pub debounce_max_seconds: String,
    /// The values with which the form was rendered, see [`crate::state::drawn`].
    pub drawn: String,
}

/// A saved view: an empty threshold is none, a missing checkbox is off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ViewForm {
    pub name: String,
    /// `true`: everybody sees it.
    pub shared: String,
    /// `true`: it is pinned for the reader.
    pub pinned: String,
    /// It alerts from this number of jobs on.
    pub alert_at: String,
}
