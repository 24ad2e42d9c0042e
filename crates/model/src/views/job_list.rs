//! The list of jobs.

use super::{choices::Choices, names::Names};
use crate::filter::JobFilter;
use crate::job::Job;
use crate::job_columns::JobColumns;
use crate::matched::Matched;
use crate::page::{Order, Page, PageRequest};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// What the list shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobListQuery {
    /// Which jobs.
    pub filter: JobFilter,
    /// Which page of them.
    pub page: PageRequest,
    /// Which come first.
    pub order: Order,
    /// What is shown of each.
    pub columns: JobColumns,
    /// Whether the jobs of all pages are counted.
    pub is_counted: bool,
}

/// A page of the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobList {
    /// The jobs in the order of the query, without payloads.
    pub page: Page<Job>,
    /// Names of their integrations.
    pub names: Names,
    /// Those of the query.
    pub columns: JobColumns,
    /// What the list can be filtered by.
    pub choices: Choices,
    /// Filters that need another one: then nothing was searched.
    pub refused: Vec<String>,
    /// The count over all pages; none when not asked for, or when counting would take too long.
    pub matched: Option<Matched>,
    /// Whether the list can begin with the oldest.
    pub may_turn: bool,
    /// When it was read.
    pub as_of: DateTime<Utc>,
}
