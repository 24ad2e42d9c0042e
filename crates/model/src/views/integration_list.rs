//! The console's list of integrations, and the question before a bulk action on them.

use crate::{id::AppId, integration_bulk::IntegrationBulkOutcome, stats::IntegrationGauge};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// Rows on a page.
pub const PAGE_ROWS: usize = 100;

/// One page of integrations, or groups of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntegrationList {
    /// Empty when the list is grouped.
    pub rows: Vec<IntegrationRow>,
    /// Empty when the list is not grouped.
    pub groups: Vec<IntegrationGroup>,
    /// Groups on all pages.
    pub groups_total: i64,
    /// Integrations that match the filter.
    pub matched: i64,
    /// Integrations without any filter.
    pub total: i64,
    /// Apps without any filter.
    pub apps_total: i64,
    /// How many would match with each state, in the order of `Only::ALL`.
    pub counts: Vec<i64>,
    /// The apps to choose from, by name; empty when there are too many.
    pub apps: Vec<(AppId, String)>,
    /// When the gauges were sampled.
    pub as_of: DateTime<Utc>,
}

/// One integration of the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntegrationRow {
    /// Its numbers.
    pub gauge: IntegrationGauge,
    /// Its backlog in the last hour, a point a minute, oldest first.
    pub backlogs: Vec<i64>,
}

/// The totals of several integrations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntegrationGroup {
    /// The parameter and value that filter the list by this group.
    pub narrowed: (String, String),
    /// The app's name, or the type.
    pub name: String,
    /// How many it has.
    pub integrations: i64,
    /// How many of them need attention.
    pub need_attention: i64,
    /// Pending jobs.
    pub backlog: i64,
    /// Jobs accepted in the last minute; none when it is not known for all of them.
    pub accepted_per_minute: Option<i64>,
    /// Completed in the last minute.
    pub delivered_per_minute: i64,
    /// Failed attempts in the last minute.
    pub failed_per_minute: i64,
    /// Dead letters.
    pub dead_letters: i64,
    /// Age of the oldest claimable job.
    pub oldest_pending_age_seconds: Option<i64>,
}

/// What a bulk action would change, for its confirmation dialog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulkQuestion {
    /// How many integrations.
    pub matched: i64,
    /// The first few by name.
    pub names: Vec<String>,
}

/// What became of a confirmed bulk action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfirmedBulk {
    /// Nothing was selected.
    NothingSelected,
    /// More integrations match than were confirmed, so none was changed.
    CountChanged,
    /// It was made.
    Made(IntegrationBulkOutcome),
}
