//! A failure group's state as colour, icon and word, and its numbers in words.

use crate::format;
use crate::ui::{Glyph, Tone};
use model::failure::{FailureGroup, FailureState, MAX_COUNTED_GROUPS};

/// In place of the state of a group that has left the list since it was loaded.
pub const NO_LONGER_LISTED: (Tone, Glyph, &str) = (Tone::Waiting, Glyph::Check, "No longer listed");

pub fn state(group: &FailureGroup) -> (Tone, Glyph, &'static str) {
    match group.state {
        FailureState::Open if group.came_back() => (Tone::Failed, Glyph::Undo, "Came back"),
        FailureState::Open => (Tone::Failed, Glyph::Alert, "Open"),
        FailureState::Snoozed => (Tone::Paused, Glyph::Clock, "Snoozed"),
        FailureState::Fixed => (Tone::Delivered, Glyph::Check, "Fixed"),
        FailureState::Over => (Tone::Waiting, Glyph::Check, "Over"),
    }
}

/// A number that is only counted up to a bound.
pub fn bounded(n: i64) -> String {
    format::up_to(n, MAX_COUNTED_GROUPS)
}

/// How many integrations and apps are affected.
pub fn reach(group: &FailureGroup) -> String {
    let word = |n: i64, one: &'static str, many: &'static str| if n == 1 { one } else { many };
    format!(
        "{} {} of {} {}",
        bounded(group.integrations),
        word(group.integrations, "integration", "integrations"),
        bounded(group.apps),
        word(group.apps, "app", "apps"),
    )
}

/// The trend in words.
pub fn trend(group: &FailureGroup) -> String {
    let sum: i64 = group.trend.failed.iter().sum();
    format!("{} in the last 12 hours", format::counted(sum, "failed attempt", "failed attempts"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_at_its_bound_says_so() {
        for (n, words) in [(0, "0"), (999, "999"), (1_000, "1,000+")] {
            assert_eq!(bounded(n), words);
        }
    }
}
