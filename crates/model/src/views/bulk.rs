//! The question before a bulk action.

use super::names::Names;
use crate::operation::DryRun;
use serde::{Deserialize, Serialize};

/// What a bulk action would change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BulkPreview {
    /// Counted exactly, at the call.
    pub run: DryRun,
    /// Names of the integrations that are counted.
    pub names: Names,
}
