//! Detects loops of the engine that have stopped, as opposed to loops that wait.
//!
//! Each essential loop announces how long it will be silent at most ([`WatchedLoop::alive_within`]). A loop that is silent for longer than that and
//! the watchdog's time-out has stopped: a handler blocks all threads, a lock is never released, or a task panicked. The heartbeats, on a thread of
//! their own, would go on, and nobody else would ever get the jobs. So the watchdog runs on their thread.
//!
//! Its clock advances only with its own checks. Time in which the whole process was paused (SIGSTOP, a suspended virtual machine, a starved CPU) does
//! not count: a loop that could not run has not stopped.

use crate::mutex::lock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Between two checks.
const STEP: Duration = Duration::from_millis(250);
/// The most that one check adds to the clock.
const MAX_STEP: Duration = Duration::from_millis(500);

/// The loop waits for work, however long that takes.
const WAITS: u64 = u64::MAX;
/// The loop ended although nothing stopped it.
const DIED: u64 = 0;

/// The essential loops of one engine.
#[derive(Default)]
pub(crate) struct Watchdog {
    clock: Arc<Clock>,
    entries: Mutex<Vec<Arc<Entry>>>,
    /// The loop that has stopped for good: this process records nothing more.
    stuck: OnceLock<&'static str>,
}

/// Milliseconds in which the process could run.
#[derive(Default)]
struct Clock(AtomicU64);

struct Entry {
    name: &'static str,
    /// When its next sign of life is due.
    due_ms: AtomicU64,
}

/// Reports the signs of life of one loop. If it is dropped without having [`ended`](Self::ended), the loop has died.
pub(crate) struct WatchedLoop<'a> {
    watchdog: &'a Watchdog,
    entry: Arc<Entry>,
}

impl Watchdog {
    /// Starts to watch a loop, which counts as waiting for work at first.
    pub(crate) fn watch(&self, name: &'static str) -> WatchedLoop<'_> {
        let entry = Arc::new(Entry { name, due_ms: AtomicU64::new(WAITS) });
        lock(&self.entries).push(Arc::clone(&entry));
        WatchedLoop { watchdog: self, entry }
    }

    /// Waits until a loop has stopped, and returns its name.
    pub(crate) async fn until_one_stops(&self, timeout: Duration) -> &'static str {
        let mut checked_at = Instant::now();
        let mut suspect = None;
        loop {
            sleep(STEP).await;
            let stopped = self.check(checked_at.elapsed(), timeout);
            checked_at = Instant::now();
            // Two checks in a row, because a runtime that ends drops its tasks in any order, and this one in a moment too.
            if stopped.is_some() && stopped == suspect {
                return stopped.unwrap_or_default();
            }
            suspect = stopped;
        }
    }

    pub(crate) fn note_stuck(&self, part: &'static str) {
        let _ = self.stuck.set(part);
    }

    pub(crate) fn stuck(&self) -> Option<&'static str> {
        self.stuck.get().copied()
    }

    /// Checks all loops, this long after the last check.
    fn check(&self, later: Duration, timeout: Duration) -> Option<&'static str> {
        self.clock.0.fetch_add(millis(later.min(MAX_STEP)), Ordering::Relaxed);
        self.stopped(timeout)
    }

    fn stopped(&self, timeout: Duration) -> Option<&'static str> {
        let now = self.clock.0.load(Ordering::Relaxed);
        let is_stopped = |due_ms: u64| due_ms == DIED || now > due_ms.saturating_add(millis(timeout));
        lock(&self.entries)
            .iter()
            .find(|entry| is_stopped(entry.due_ms.load(Ordering::Relaxed)))
            .map(|entry| entry.name)
    }
}

impl WatchedLoop<'_> {
    /// A sign of life; the next one comes within this time.
    pub(crate) fn alive_within(&self, wait: Duration) {
        // Never 0, which means `DIED`.
        let due = self.watchdog.clock.0.load(Ordering::Relaxed).saturating_add(millis(wait)).max(1);
        self.entry.due_ms.store(due.min(WAITS - 1), Ordering::Relaxed);
    }

    /// The loop waits for work.
    pub(crate) fn waits_for_work(&self) {
        self.entry.due_ms.store(WAITS, Ordering::Relaxed);
    }

    /// The loop has ended in order.
    pub(crate) fn ended(self) {
        lock(&self.watchdog.entries).retain(|entry| !Arc::ptr_eq(entry, &self.entry));
    }
}

impl Drop for WatchedLoop<'_> {
    fn drop(&mut self) {
        self.entry.due_ms.store(DIED, Ordering::Relaxed);
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn a_loop_has_stopped_when_it_is_silent_for_longer_than_announced_plus_the_time_out() {
        let watchdog = Watchdog::default();
        let (quick, slow) = (watchdog.watch("quick"), watchdog.watch("slow"));
        quick.alive_within(MS(100));
        slow.alive_within(MS(2_000));
        let checks = |count: usize| (0..count).find_map(|_| watchdog.check(MS(250), MS(1_000)));
        assert_eq!(checks(4), None);
        assert_eq!(checks(1), Some("quick"));
        quick.alive_within(MS(100));
        assert_eq!(checks(4), None, "it gave a sign of life");
        quick.waits_for_work();
        assert_eq!(checks(3), None, "it waits for work");
        assert_eq!(checks(1), Some("slow"));
        slow.ended();
        assert_eq!(checks(1), None);
        drop(quick);
        assert_eq!(checks(1), Some("quick"), "dropped before its end, as by a panic");
    }

    #[test]
    fn time_in_which_the_whole_process_was_paused_counts_as_one_check() {
        let watchdog = Watchdog::default();
        let watched = watchdog.watch("loop");
        watched.alive_within(MS(1_000));
        assert_eq!(watchdog.check(MS(3_600_000), MS(5_000)), None, "it could not run");
        let checks = (0..).find(|_| watchdog.check(MS(250), MS(5_000)).is_some());
        assert_eq!(checks, Some(22), "silent although it could run");
    }
}
