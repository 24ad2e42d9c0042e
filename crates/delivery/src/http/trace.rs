//! `traceparent` (W3C Trace Context, level 1): a new trace for each attempt, so that a receiver's spans of two attempts stay apart. What
//! ties attempts together is the correlation id.

use rand::Rng;

/// `00-<trace id>-<parent id>-01`, both random and never zero (the standard forbids that).
#[must_use]
pub fn new_traceparent() -> String {
    let mut rng = rand::rng();
    let trace: u128 = rng.random_range(1..=u128::MAX);
    let parent: u64 = rng.random_range(1..=u64::MAX);
    format!("00-{trace:032x}-{parent:016x}-01")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_has_the_standards_form() {
        let text = new_traceparent();
        let parts: Vec<&str> = text.split('-').collect();
        assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [2, 32, 16, 2]);
        assert!(
            parts.iter().all(|part| part.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase()))
        );
        assert_ne!(text, new_traceparent());
    }
}
