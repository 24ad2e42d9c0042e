//! The page of the audit log.

use crate::{audit::AuditEntry, page::Page};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A page of the audit log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditList {
    /// Newest first.
    pub page: Page<AuditLine>,
    /// Current names of the objects of the lines, by id.
    pub labels: BTreeMap<String, String>,
    /// When it was read.
    pub as_of: DateTime<Utc>,
}

/// A line, and what its reader may do with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditLine {
    /// The line.
    pub entry: AuditEntry,
    /// Whether it can be undone, and the reader's role allows the undoing call.
    pub may_undo: bool,
    /// The same for repeating it.
    pub may_repeat: bool,
}
