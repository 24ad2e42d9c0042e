//! The last send times of this process under each limit: they keep a late request and the punctual ones behind it within the limit.
//!
//! Slots are spaced so that no window exceeds its limit as long as each is used on time. If this is the only process, it need not drop a slot it is
//! late for: it knows every request that was sent, and waits until the window has room.

use crate::mutex::lock;
use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;
use tokio::time::Instant;

/// Larger limits are not checked here: their slots are closer together than any clock is exact.
const MAX_REQUESTS: usize = 10_000;

/// The longest window of a limit, 24 hours, and what [`Limit::window`] adds: a key not used for so long has an empty window.
const MAX_WINDOW: Duration = Duration::from_secs(86_400 + 86_400 / 50);

/// A limit as stored in the lane's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    /// Shared limits have one key for several integrations.
    pub key: String,
    pub requests: usize,
    pub per: Duration,
}

impl Limit {
    /// The window plus 2 %, because the network changes the distance of two requests.
    fn window(&self) -> Duration {
        self.per + self.per / 50
    }
}

/// The send times of the newest requests under each limit.
#[derive(Default)]
pub(crate) struct RecentSends(Mutex<HashMap<String, VecDeque<Instant>>>);

impl RecentSends {
    /// Records a request that is sent `now`, or returns when every window will have room for it.
    pub(crate) fn send(&self, limits: &[Limit], now: Instant) -> Result<(), Instant> {
        let mut sends = lock(&self.0);
        let checked = || limits.iter().filter(|limit| (1..=MAX_REQUESTS).contains(&limit.requests));
        let free_at = checked()
            .filter_map(|limit| {
                let recent = sends.get(&limit.key)?;
                let first_in_window = recent.len().checked_sub(limit.requests)?;
                Some(*recent.get(first_in_window)? + limit.window())
            })
            .max();
        if let Some(free_at) = free_at.filter(|free_at| *free_at > now) {
            return Err(free_at);
        }
        for limit in checked() {
            if !sends.contains_key(&limit.key) {
                // Forgets keys that are no longer used, whenever a new one comes.
                sends.retain(|_, recent| recent.back().is_some_and(|last| now < *last + MAX_WINDOW));
            }
            let recent = sends.entry(limit.key.clone()).or_default();
            recent.push_back(now);
            while recent.len() > limit.requests {
                recent.pop_front();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn limit(key: &str, requests: usize) -> Limit {
        Limit { key: key.to_owned(), requests, per: Duration::from_secs(1) }
    }

    #[test]
    fn a_full_window_makes_the_next_request_wait() {
        let (sends, start) = (RecentSends::default(), Instant::now());
        let limits = [limit("a", 2)];
        assert_eq!(sends.send(&limits, start), Ok(()));
        assert_eq!(sends.send(&limits, start + MS(900)), Ok(()));
        assert_eq!(sends.send(&limits, start + MS(950)), Err(start + MS(1020)));
        assert_eq!(sends.send(&limits, start + MS(1020)), Ok(()));
        assert_eq!(sends.send(&limits, start + MS(1030)), Err(start + MS(1920)));
    }

    #[test]
    fn every_limit_counts_and_a_refused_request_counts_nowhere() {
        let (sends, start) = (RecentSends::default(), Instant::now());
        let both = [limit("wide", 100), limit("narrow", 1)];
        assert_eq!(sends.send(&both, start), Ok(()));
        assert_eq!(sends.send(&both, start + MS(10)), Err(start + MS(1020)));
        // Another integration that shares the narrow limit alone waits too.
        assert_eq!(sends.send(&[limit("narrow", 1)], start + MS(20)), Err(start + MS(1020)));
        assert_eq!(sends.send(&[limit("wide", 100)], start + MS(20)), Ok(()));
    }

    #[test]
    fn keys_with_empty_windows_are_forgotten() {
        let (sends, start) = (RecentSends::default(), Instant::now());
        assert_eq!(sends.send(&[limit("gone", 2)], start), Ok(()));
        assert_eq!(sends.send(&[limit("here", 2)], start + MS(86_400_000)), Ok(()));
        assert_eq!(sends.0.lock().unwrap().len(), 2, "a window of a day still holds the first");
        assert_eq!(sends.send(&[limit("new", 2)], start + MS(90_000_000)), Ok(()));
        let mut keys: Vec<String> = sends.0.lock().unwrap().keys().cloned().collect();
        keys.sort();
        assert_eq!(keys, ["here", "new"]);
    }
}
