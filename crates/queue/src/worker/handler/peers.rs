//! The jobs of one lane that came with one claim: lets a handler do several of them with one request.

use rand::Rng as _;
use std::any::Any;
use std::sync::{Arc, OnceLock};

/// The jobs of one lane that came with one claim, and a value their handler lets them share.
#[derive(Default)]
pub(crate) struct Peers {
    count: usize,
    jitter: f64,
    shared: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl Peers {
    pub(crate) fn new(count: usize) -> Self {
        Self { count, jitter: rand::rng().random(), shared: OnceLock::new() }
    }

    pub(crate) fn jitter(&self) -> f64 {
        self.jitter
    }

    /// As [`LeasedJob::share_with_peers`](crate::LeasedJob::share_with_peers).
    pub(super) fn share<T: Any + Send + Sync>(&self, make: impl FnOnce(usize) -> T) -> Option<Arc<T>> {
        let shared = self.shared.get_or_init(|| Arc::new(make(self.count)));
        Arc::clone(shared).downcast().ok()
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
