//! How many jobs a filter matches, counted up to a limit: counting more would take too long, so it is shown as "10,000+".

use crate::text::grouped;
use serde::{Deserialize, Serialize};

/// Up to this, the number is exact.
pub const MAX_COUNTED: i64 = 10_000;

/// A number that may be a lower bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtLeast {
    /// The number counted.
    pub n: i64,
    /// Whether there may be more.
    pub is_more: bool,
}

impl std::fmt::Display for AtLeast {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plus = if self.is_more || self.n > MAX_COUNTED { "+" } else { "" };
        write!(f, "{}{plus}", grouped(self.n.min(MAX_COUNTED)))
    }
}

impl std::ops::AddAssign for AtLeast {
    fn add_assign(&mut self, other: Self) {
        self.n += other.n;
        self.is_more |= other.is_more;
    }
}

/// How many jobs a filter matches, for the list and for its bulk actions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matched {
    /// All jobs of the list.
    pub all: AtLeast,
    /// Jobs that a requeue of all matches would change.
    pub requeue: AtLeast,
    /// Jobs that a cancel of all matches would change.
    pub cancel: AtLeast,
}

impl Matched {
    /// Raises `all` to the number of jobs shown: list and count are read at different times.
    #[must_use]
    pub fn at_least_shown(mut self, shown: usize) -> Self {
        self.all.n = self.all.n.max(i64::try_from(shown).unwrap_or(i64::MAX));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lower_bound_has_a_plus() {
        let at_least = |n, is_more| AtLeast { n, is_more }.to_string();
        assert_eq!(at_least(1_204, false), "1,204");
        assert_eq!(at_least(10_000, false), "10,000");
        assert_eq!(at_least(10_001, true), "10,000+");
        assert_eq!(at_least(20_002, true), "10,000+");
        assert_eq!(at_least(37, true), "37+");
    }

    #[test]
    fn a_count_is_at_least_the_number_shown() {
        let counted = Matched { all: AtLeast { n: 5, is_more: false }, ..Matched::default() };
        assert_eq!(counted.at_least_shown(6).all.n, 6);
        assert_eq!(counted.at_least_shown(3).all.n, 5);
    }
}
