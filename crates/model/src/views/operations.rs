//! The pages of bulk operations.

use super::names::Names;
use crate::{operation::Operation, page::Page};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// Bulk operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationList {
    /// Newest first.
    pub page: Page<Operation>,
    /// Names of the integrations in their filters.
    pub names: Names,
    /// When they were read.
    pub as_of: DateTime<Utc>,
}

/// One bulk operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationPage {
    /// The operation.
    pub operation: Operation,
    /// Names of the integrations whose jobs were counted, and of the one in its filter.
    pub names: Names,
    /// When reading began.
    pub as_of: DateTime<Utc>,
}
