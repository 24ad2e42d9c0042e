//! The console's list of rate limits with their use.

use crate::id::{AppId, IntegrationId};
use crate::integration::Integration;
use crate::limit_use::{LimitStep, LimitUse, LimitWindow};
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

/// Rows on a page: few, because each has up to an hour of minutes.
pub const PAGE_ROWS: usize = 50;

/// What the page of rate limits asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitQuery {
    /// The span of the cells.
    pub window: LimitWindow,
    /// Searched in names of integrations and apps, and in shared keys; lower case.
    pub name: String,
    /// From 1.
    pub page: usize,
    /// The integration whose limits are being edited.
    pub edited: Option<IntegrationId>,
}

/// One page of limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitList {
    /// Most outstanding jobs first.
    pub rows: Vec<LimitRow>,
    /// How many match the filter.
    pub matched: i64,
    /// How many there are without the filter.
    pub total: i64,
    /// From 1.
    pub page: usize,
    /// The span of the cells.
    pub window: LimitWindow,
    /// The integration whose limits are being edited.
    pub edited: Option<Integration>,
    /// When it was read.
    pub as_of: DateTime<Utc>,
}

/// One limit with the integrations that share it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitRow {
    /// Identifies the limit.
    pub key: String,
    /// The app of its integrations.
    pub app_id: AppId,
    /// The app's name.
    pub app_name: String,
    /// The `rate_limit_key` by which integrations share it; none: it belongs to one integration.
    pub shared_key: Option<String>,
    /// The integrations it applies to, by name.
    pub members: Vec<(IntegrationId, String)>,
    /// Requests allowed per window.
    pub requests: i32,
    /// Length of the window.
    pub per_seconds: i32,
    /// Requests in the current window.
    pub used: i32,
    /// Its integrations are quiet until then, because their system answered 429.
    pub quiet_until: Option<DateTime<Utc>>,
    /// Pending jobs of its integrations.
    pub backlog: i64,
    /// Pending jobs, and those that wait for a retry.
    pub outstanding: i64,
    /// Jobs accepted in the last minute; none: not known.
    pub accepted_per_minute: Option<i64>,
    /// Until the backlog is cleared; none when it cannot be estimated.
    pub eta_seconds: Option<i64>,
    /// Its use over time.
    pub cells: Cells,
}

/// [`LimitUse`] in a compact encoding, because a page has thousands of steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cells {
    begin: i64,
    step_seconds: i32,
    /// [`LimitStep`]'s `given`, `allowed` and `refused`.
    steps: Vec<(i64, f32, i64)>,
    edited_at: Vec<DateTime<Utc>>,
}

impl From<LimitUse> for Cells {
    fn from(used: LimitUse) -> Self {
        Self {
            begin: used.steps.first().map_or(0, |step| step.at.timestamp()),
            step_seconds: used.step_seconds,
            steps: used.steps.iter().map(|step| (step.given, step.allowed as f32, step.refused)).collect(),
            edited_at: used.edited_at,
        }
    }
}

impl From<&Cells> for LimitUse {
    fn from(cells: &Cells) -> Self {
        let begin = DateTime::from_timestamp(cells.begin, 0).unwrap_or_default();
        let length = TimeDelta::seconds(cells.step_seconds.into());
        let steps = cells.steps.iter().zip(0..).map(|((given, allowed, refused), n)| LimitStep {
            at: begin + length * n,
            given: *given,
            allowed: f64::from(*allowed),
            refused: *refused,
        });
        Self { step_seconds: cells.step_seconds, steps: steps.collect(), edited_at: cells.edited_at.clone() }
    }
}
