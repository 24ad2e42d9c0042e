//! Tells a process whose loops have stopped from one that waits.
//!
//! Each essential loop says how long it will be silent at most ([`Pulse::within`]); one that is silent for longer, and the patience on
//! top, has stopped: a handler blocks all threads, a lock is never given back, a task panicked. Heartbeats run on a thread of their own
//! and would go on, so that nobody else ever got the jobs. So the watchdog stands beside them, on the same thread.
//!
//! Its clock advances with its own looks only. Time in which the whole process was paused (SIGSTOP, a virtual machine that slept, a starved
//! CPU) does not count: a loop that had no chance to move has not stopped.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::time::{Instant, sleep};

/// Between two looks.
const STEP: Duration = Duration::from_millis(250);
/// What one look adds to the clock at most.
const LONGEST_STEP: Duration = Duration::from_millis(500);

/// The loop waits for others, however long that takes.
const RESTS: u64 = u64::MAX;
/// The loop ended, and nobody had told it to.
const DIED: u64 = 0;

/// The essential loops of one engine.
#[derive(Default)]
pub(super) struct Pulses {
    clock: Arc<Clock>,
    watched: Mutex<Vec<Arc<Watched>>>,
}

/// Milliseconds the process could have worked.
#[derive(Default)]
struct Clock(AtomicU64);

struct Watched {
    name: &'static str,
    /// When it will have been heard from.
    due_ms: AtomicU64,
}

/// The life sign of one loop. A loop that is dropped without having [`ended`](Self::ended) has died.
pub(super) struct Pulse<'a> {
    pulses: &'a Pulses,
    watched: Arc<Watched>,
}

impl Pulses {
    /// Begins to watch a loop; it rests until it says otherwise.
    pub(super) fn watch(&self, name: &'static str) -> Pulse<'_> {
        let watched = Arc::new(Watched { name, due_ms: AtomicU64::new(RESTS) });
        self.lock().push(Arc::clone(&watched));
        Pulse { pulses: self, watched }
    }

    /// The first loop found that has stopped. Comes back only then.
    pub(super) async fn until_one_stops(&self, patience: Duration) -> &'static str {
        let mut looked_at = Instant::now();
        let mut suspect = None;
        loop {
            sleep(STEP).await;
            let stopped = self.look(looked_at.elapsed(), patience);
            looked_at = Instant::now();
            // Twice, because a runtime that ends drops its tasks in any order, and ours with them in a moment.
            if stopped.is_some() && stopped == suspect {
                return stopped.unwrap_or_default();
            }
            suspect = stopped;
        }
    }

    /// Looks, so long after the last time.
    fn look(&self, later: Duration, patience: Duration) -> Option<&'static str> {
        self.clock.0.fetch_add(millis(later.min(LONGEST_STEP)), Ordering::Relaxed);
        self.stopped(patience)
    }

    fn stopped(&self, patience: Duration) -> Option<&'static str> {
        let now = self.clock.0.load(Ordering::Relaxed);
        let is_stopped = |due_ms: u64| due_ms == DIED || now > due_ms.saturating_add(millis(patience));
        self.lock()
            .iter()
            .find(|watched| is_stopped(watched.due_ms.load(Ordering::Relaxed)))
            .map(|watched| watched.name)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Watched>>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pulse<'_> {
    /// It moves, and will be heard from again within this time.
    pub(super) fn within(&self, wait: Duration) {
        // Never 0, which says something else.
        let due = self.pulses.clock.0.load(Ordering::Relaxed).saturating_add(millis(wait)).max(1);
        self.watched.due_ms.store(due.min(RESTS - 1), Ordering::Relaxed);
    }

    /// It waits for work.
    pub(super) fn rests(&self) {
        self.watched.due_ms.store(RESTS, Ordering::Relaxed);
    }

    /// It ends because it was told to, or has nothing more to do.
    pub(super) fn ended(self) {
        self.pulses.lock().retain(|watched| !Arc::ptr_eq(watched, &self.watched));
    }
}

impl Drop for Pulse<'_> {
    fn drop(&mut self) {
        self.watched.due_ms.store(DIED, Ordering::Relaxed);
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
    fn a_loop_has_stopped_when_it_is_silent_for_longer_than_it_said_and_the_patience() {
        let pulses = Pulses::default();
        let (quick, slow) = (pulses.watch("quick"), pulses.watch("slow"));
        quick.within(MS(100));
        slow.within(MS(2_000));
        let looks = |count: usize| (0..count).find_map(|_| pulses.look(MS(250), MS(1_000)));
        assert_eq!(looks(4), None);
        assert_eq!(looks(1), Some("quick"));
        quick.within(MS(100));
        assert_eq!(looks(4), None, "it moved");
        quick.rests();
        assert_eq!(looks(3), None, "it waits for work");
        assert_eq!(looks(1), Some("slow"));
        slow.ended();
        assert_eq!(looks(1), None);
        drop(quick);
        assert_eq!(looks(1), Some("quick"), "dropped before its end, as by a panic");
    }

    #[test]
    fn time_in_which_the_whole_process_was_paused_counts_as_one_look() {
        let pulses = Pulses::default();
        let pulse = pulses.watch("loop");
        pulse.within(MS(1_000));
        assert_eq!(pulses.look(MS(3_600_000), MS(5_000)), None, "it had no chance to move");
        let looks = (0..).find(|_| pulses.look(MS(250), MS(5_000)).is_some());
        assert_eq!(looks, Some(22), "silent while it could have worked");
    }
}
