//! Measurements of a process's own engine, for `/metrics` and `/readyz`: counters and clocks in memory, a few instructions each.

use crate::mutex::lock;
use chrono::TimeDelta;
use model::histogram::Histogram;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Upper bounds of the buckets of batch sizes; one more bucket counts larger batches.
pub const SIZES: [usize; 9] = [1, 2, 5, 10, 20, 50, 100, 200, 500];

/// Round trips of one kind since the start of the process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rounds {
    /// Their durations.
    pub durations: Histogram,
    /// The sum of their durations.
    pub took: Duration,
    /// Round trips with at least one job, by [`SIZES`].
    pub sizes: [u64; SIZES.len() + 1],
    /// Jobs of all round trips.
    pub jobs: u64,
}

impl Rounds {
    fn add(&mut self, jobs: usize, took: Duration) {
        self.durations.add(took);
        self.took += took;
        self.jobs += jobs as u64;
        if jobs > 0 {
            let at = SIZES.iter().position(|bound| jobs <= *bound).unwrap_or(SIZES.len());
            self.sizes[at] += 1;
        }
    }
}

pub(crate) struct Meters {
    began_at: Instant,
    claims: Mutex<Rounds>,
    finishes: Mutex<Rounds>,
    /// How far this host's clock is ahead of the database's, in milliseconds.
    clock_ahead_ms: AtomicI64,
    /// When the claimer last began a round, in milliseconds since `began_at`.
    claimer_moved_ms: AtomicU64,
    /// When the number of unrecorded results last fell, or rose from zero.
    results_moved_ms: AtomicU64,
}

impl Meters {
    pub(crate) fn new() -> Self {
        Self {
            began_at: Instant::now(),
            claims: Mutex::default(),
            finishes: Mutex::default(),
            clock_ahead_ms: AtomicI64::new(0),
            claimer_moved_ms: AtomicU64::new(0),
            results_moved_ms: AtomicU64::new(0),
        }
    }

    pub(crate) fn claimed(&self, jobs: usize, took: Duration) {
        lock(&self.claims).add(jobs, took);
    }

    pub(crate) fn finished(&self, jobs: usize, took: Duration) {
        lock(&self.finishes).add(jobs, took);
    }

    /// Returns the previous value.
    pub(crate) fn note_clock_ahead(&self, ahead: TimeDelta) -> TimeDelta {
        TimeDelta::milliseconds(self.clock_ahead_ms.swap(ahead.num_milliseconds(), Ordering::Relaxed))
    }

    pub(crate) fn clock_ahead(&self) -> TimeDelta {
        TimeDelta::milliseconds(self.clock_ahead_ms.load(Ordering::Relaxed))
    }

    pub(crate) fn claimer_moves(&self) {
        self.claimer_moved_ms.store(self.now_ms(), Ordering::Relaxed);
    }

    pub(crate) fn results_move(&self) {
        self.results_moved_ms.store(self.now_ms(), Ordering::Relaxed);
    }

    pub(crate) fn claims(&self) -> Rounds {
        lock(&self.claims).clone()
    }

    pub(crate) fn finishes(&self) -> Rounds {
        lock(&self.finishes).clone()
    }

    pub(crate) fn claimer_silent_for(&self) -> Duration {
        self.since(&self.claimer_moved_ms)
    }

    pub(crate) fn results_wait_for(&self) -> Duration {
        self.since(&self.results_moved_ms)
    }

    fn since(&self, ms: &AtomicU64) -> Duration {
        Duration::from_millis(self.now_ms().saturating_sub(ms.load(Ordering::Relaxed)))
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began_at.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_are_counted_by_what_they_carried() {
        let meters = Meters::new();
        for jobs in [0, 1, 5, 6, 500, 501] {
            meters.claimed(jobs, Duration::from_millis(2));
        }
        let claims = meters.claims();
        assert_eq!(claims.sizes, [1, 0, 1, 1, 0, 0, 0, 0, 1, 1]);
        assert_eq!(
            (claims.jobs, claims.took, claims.durations.total()),
            (1_013, Duration::from_millis(12), 6)
        );
        assert_eq!(meters.finishes(), Rounds::default());
    }
}
