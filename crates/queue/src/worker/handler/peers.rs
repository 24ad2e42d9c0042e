//! The jobs of one lane that came with one claim: lets a handler do several of them with one request.

use rand::Rng as _;
use std::{
    any::Any,
    sync::{Arc, OnceLock},
};

/// The jobs of one lane that came with one claim, and a value their handler lets them share.
#[derive(Default)]
pub struct Peers {
    count: usize,
    jitter: f64,
    shared: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl Peers {
    pub(crate) fn new(count: usize) -> Self {
        Self { count, jitter: rand::rng().random(), shared: OnceLock::new() }
    }

    /// How many there are, including this one. Some of them may never run, if the lease ends before.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn jitter(&self) -> f64 {
        self.jitter
    }

    /// The shared value, made by the first caller; none when another handler made a value of another type. It lives as long as any of the jobs, or any
    /// other clone of the `Arc`.
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
