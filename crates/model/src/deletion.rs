//! Deleting an app or an integration.

use crate::etag::IfMatch;

/// Conditions of a deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Cancels live jobs; otherwise the deletion is refused while there are any.
    pub cancel_jobs: bool,
    /// Refuses another version than this.
    pub if_match: IfMatch,
}
