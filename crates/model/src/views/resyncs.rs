//! The page of re-syncs.

use super::names::Names;
use crate::{page::Page, resync::Resync};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// Re-syncs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResyncList {
    /// Newest first.
    pub page: Page<Resync>,
    /// Names of their integrations.
    pub names: Names,
    /// When they were read.
    pub as_of: DateTime<Utc>,
}
