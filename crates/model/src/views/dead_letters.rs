//! The page of dead letters, and the bin.

use super::{choices::Choices, names::Names};
use crate::dead_letter::{BinnedLetter, DeadLetter};
use crate::dead_letter_grid::DeadLetterGrid;
use crate::page::Page;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// Dead letters, and their numbers by integration and cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeadLetterList {
    /// Newest first, without payloads.
    pub page: Page<DeadLetter>,
    /// How many match, by integration and cause; none when counting took too long.
    pub grid: Option<DeadLetterGrid>,
    /// Names of the integrations of list and grid.
    pub names: Names,
    /// For the filters.
    pub choices: Choices,
    /// When they were read.
    pub as_of: DateTime<Utc>,
}

/// The dead letters purged in the last 24 hours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// Last purged first, without payloads.
    pub page: Page<BinnedLetter>,
    /// Names of their integrations.
    pub names: Names,
    /// When they were read.
    pub as_of: DateTime<Utc>,
}
