//! What to try next when a batch fails as a whole: its halves, and theirs, until the items that make it fail are alone.

use std::collections::VecDeque;

/// The parts of a batch that are still to be tried, in their order.
#[derive(Debug)]
pub struct Halving<T> {
    parts: VecDeque<Vec<T>>,
}

impl<T> Halving<T> {
    /// Starts with these parts.
    pub fn of(parts: impl IntoIterator<Item = Vec<T>>) -> Self {
        Self { parts: parts.into_iter().collect() }
    }

    /// The part to try now.
    pub fn next_part(&mut self) -> Option<Vec<T>> {
        self.parts.pop_front()
    }

    /// Tries the halves of a part that failed next. Returns an item that failed alone.
    #[must_use = "an item that failed alone is not tried again"]
    pub fn halve(&mut self, mut failed: Vec<T>) -> Option<T> {
        if failed.len() < 2 {
            return failed.pop();
        }
        let second = failed.split_off(failed.len().div_ceil(2));
        self.try_next(second);
        self.try_next(failed);
        None
    }

    /// Tries a part before all others.
    pub fn try_next(&mut self, part: Vec<T>) {
        self.parts.push_front(part);
    }

    /// Tries a part after all others.
    pub fn try_last(&mut self, part: Vec<T>) {
        self.parts.push_back(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bad_item_is_found_and_the_others_keep_their_order() {
        let mut parts = Halving::of([(0..5).collect::<Vec<u8>>(), vec![5, 6]]);
        let (mut good, mut bad, mut tries) = (Vec::new(), Vec::new(), 0);
        while let Some(part) = parts.next_part() {
            tries += 1;
            if part.contains(&3) { bad.extend(parts.halve(part)) } else { good.extend(part) }
        }
        assert_eq!((good, bad, tries), (vec![0, 1, 2, 4, 5, 6], vec![3], 6));
    }

    #[test]
    fn an_empty_part_has_no_halves() {
        let mut parts = Halving::<u8>::of([]);
        assert_eq!(parts.halve(Vec::new()), None);
        assert_eq!(parts.next_part(), None);
    }

    #[test]
    fn parts_can_be_put_first_and_last() {
        let mut parts = Halving::of([vec!["middle"]]);
        parts.try_last(vec!["last"]);
        parts.try_next(vec!["first"]);
        let order: Vec<_> = std::iter::from_fn(|| parts.next_part()).flatten().collect();
        assert_eq!(order, ["first", "middle", "last"]);
    }
}
