//! The jobs of one integration that came with one claim: what a handler needs to do several of them with one request.

use rand::Rng as _;
use std::{
    any::Any,
    sync::{Arc, OnceLock},
};

/// The jobs of one integration that came with one claim, and what their handler lets them share.
#[derive(Default)]
pub struct Peers {
    count: usize,
    jitter: f64,
    shared: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl Peers {
    pub(super) fn new(count: usize) -> Self {
        Self { count, jitter: rand::rng().random(), shared: OnceLock::new() }
    }

    /// How many there are, this one among them. Some of them may never come to run: a lease can end before.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    pub(super) fn jitter(&self) -> f64 {
        self.jitter
    }

    /// What they share, made by the first that asks; none when another handler made something else. It lives as long as one of them
    /// does, or whoever else keeps it.
    pub fn share<T: Any + Send + Sync>(&self, make: impl FnOnce(usize) -> T) -> Option<Arc<T>> {
        let shared = self.shared.get_or_init(|| Arc::new(make(self.count)));
        Arc::clone(shared).downcast().ok()
    }
}

impl std::fmt::Debug for Peers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peers").field("count", &self.count).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_makes_what_all_share() {
        let peers = Peers::new(3);
        let first = peers.share(|count| format!("made for {count}")).unwrap();
        let second = peers.share(|_| String::from("made again")).unwrap();
        assert_eq!(first.as_str(), "made for 3");
        assert!(Arc::ptr_eq(&first, &second));
        assert!(peers.share(|count| count).is_none(), "something else");
    }
}
