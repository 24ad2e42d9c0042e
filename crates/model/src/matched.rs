//! How many jobs a filter finds. Nobody waits for the exact number of many: beyond ten thousand it is "10,000+".

use crate::text::grouped;
use serde::{Deserialize, Serialize};

/// So many are counted exactly.
pub const MOST: i64 = 10_000;

/// A number that may stop short of the truth, and says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtLeast {
    /// At least so many.
    pub n: i64,
    /// There may be more.
    pub is_more: bool,
}

impl std::fmt::Display for AtLeast {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", grouped(self.n.min(MOST)), if self.is_more || self.n > MOST { "+" } else { "" })
    }
}

impl std::ops::AddAssign for AtLeast {
    fn add_assign(&mut self, other: Self) {
        self.n += other.n;
        self.is_more |= other.is_more;
    }
}

/// What a filter finds, by what can be done with it: the scopes of the list and of the buttons below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matched {
    /// All that the list shows, over all its pages.
    pub all: AtLeast,
    /// What a requeue of all that match would touch.
    pub requeue: AtLeast,
    /// What calling off all that match would touch.
    pub cancel: AtLeast,
}

impl Matched {
    /// Counted beside a list that shows so many: never fewer than stand there.
    #[must_use]
    pub fn beside(mut self, shown: usize) -> Self {
        self.all.n = self.all.n.max(i64::try_from(shown).unwrap_or(i64::MAX));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_stops_short_says_so() {
        let at_least = |n, is_more| AtLeast { n, is_more }.to_string();
        assert_eq!(at_least(1_204, false), "1,204");
        assert_eq!(at_least(10_000, false), "10,000");
        assert_eq!(at_least(10_001, true), "10,000+");
        assert_eq!(at_least(20_002, true), "10,000+");
        assert_eq!(at_least(37, true), "37+");
    }

    #[test]
    fn a_count_never_says_fewer_than_stand_beside_it() {
        let counted = Matched { all: AtLeast { n: 5, is_more: false }, ..Matched::default() };
        assert_eq!(counted.beside(6).all.n, 6);
        assert_eq!(counted.beside(3).all.n, 5);
    }
}
