//! The page of failures.

use super::choices::Choices;
use crate::failure::{FailureDetail, FailureGroup};
use crate::page::Page;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// Failure groups, and the one that is opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailureList {
    /// Most jobs first.
    pub page: Page<FailureGroup>,
    /// How many groups are open with these filters; counted up to 1,000.
    pub open: i64,
    /// The group that is opened.
    pub group: Option<FailureDetail>,
    /// For the filters.
    pub choices: Choices,
    /// When they were read.
    pub as_of: DateTime<Utc>,
}
