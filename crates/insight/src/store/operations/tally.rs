//! The count of what an operation changed and skipped in one transaction.

use super::skip_reasons::Reasons;
use model::operation::SkipReason;

/// What became of the rows of one transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub changed: i64,
    pub skipped: Reasons,
}

impl Tally {
    pub(super) fn new(changed: usize, skipped: Reasons) -> Self {
        Self { changed: count(changed), skipped }
    }

    /// The dead letters that were not changed are gone.
    pub(super) fn of_letters(changed: usize, selected: usize) -> Self {
        let gone = count(selected.saturating_sub(changed));
        let skipped = (gone > 0).then_some((SkipReason::Gone, gone)).into_iter().collect();
        Self::new(changed, skipped)
    }
}

fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
