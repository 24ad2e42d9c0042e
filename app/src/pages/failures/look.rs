//! How a group looks: colour, icon and word of its state, and its numbers in words.

use crate::{
    format,
    ui::{Glyph, Tone},
};
use model::failure::{FailureGroup, FailureState, MOST_OPEN};

/// Colour, icon and word.
pub fn state(group: &FailureGroup) -> (Tone, Glyph, &'static str) {
    match group.state {
        FailureState::Open if group.came_back() => (Tone::Failed, Glyph::Undo, "Came back"),
        FailureState::Open => (Tone::Failed, Glyph::Alert, "Open"),
        FailureState::Snoozed => (Tone::Paused, Glyph::Clock, "Snoozed"),
        FailureState::Fixed => (Tone::Delivered, Glyph::Check, "Fixed"),
        FailureState::Over => (Tone::Waiting, Glyph::Check, "Over"),
    }
}

/// A number that is counted up to a bound only.
pub fn bounded(n: i64) -> String {
    format::up_to(n, MOST_OPEN)
}

/// Who is affected.
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

/// What the trend draws, in words.
pub fn trend(group: &FailureGroup) -> String {
    let sum: i64 = group.trend.failed.iter().sum();
    format!("{} in the last 12 hours", format::counted(sum, "failed attempt", "failed attempts"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_up_to_a_bound_says_so() {
        for (n, words) in [(0, "0"), (999, "999"), (1_000, "1,000+")] {
            assert_eq!(bounded(n), words);
        }
    }
}
