//! Maps the database's clock to this process's monotonic one.
//!
//! An answer that carries the database's time proves that this time lay between question and answer. The tightest such proof of the last minute
//! is kept, so that a slow round trip does not blur send times: what was reserved ahead is sent on time even if the reservation itself arrived late.

use std::time::Duration;
use tokio::time::Instant;

/// An older proof is replaced by the next one, however loose, because clocks drift.
const FRESH: Duration = Duration::from_secs(60);

/// The tightest proof so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DatabaseClock {
    /// The database's time that was answered.
    at_us: i64,
    /// Before this, the database's clock had not reached that time.
    asked_at: Instant,
    /// By then, the database's clock had reached that time.
    answered_at: Instant,
}

impl DatabaseClock {
    pub(crate) fn proven(at_us: i64, asked_at: Instant, answered_at: Instant) -> Self {
        Self { at_us, asked_at, answered_at }
    }

    /// The better of two proofs. If the new one contradicts the old one, a clock was set: the new one counts.
    pub(crate) fn or_better(self, new: Self) -> Self {
        let is_fresh = new.answered_at.duration_since(self.answered_at) < FRESH;
        let agrees =
            self.reached_at(new.at_us) >= new.asked_at && self.not_before(new.at_us) <= new.answered_at;
        let is_tighter = self.width() <= new.width();
        if is_fresh && agrees && is_tighter { self } else { new }
    }

    /// By this moment the database's clock has certainly reached `us`.
    pub(crate) fn reached_at(&self, us: i64) -> Instant {
        shift(self.answered_at, us - self.at_us)
    }

    /// Before this moment it certainly has not.
    pub(crate) fn not_before(&self, us: i64) -> Instant {
        shift(self.asked_at, us - self.at_us)
    }

    /// The database's time at a moment, as exactly as it is known.
    pub(crate) fn shows_at(&self, moment: Instant) -> i64 {
        let us = |duration: Duration| i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        match moment.checked_duration_since(self.answered_at) {
            Some(later) => self.at_us.saturating_add(us(later)),
            None => self.at_us.saturating_sub(us(self.answered_at.duration_since(moment))),
        }
    }

    fn width(&self) -> Duration {
        self.answered_at.duration_since(self.asked_at)
    }
}

fn shift(from: Instant, us: i64) -> Instant {
    let by = Duration::from_micros(us.unsigned_abs());
    if us >= 0 { from + by } else { from.checked_sub(by).unwrap_or(from) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn a_moment_has_its_time() {
        let start = Instant::now() + MS(1_000);
        let clock = DatabaseClock::proven(5_000_000, start, start + MS(2));
        assert_eq!(clock.shows_at(start + MS(2)), 5_000_000);
        assert_eq!(clock.shows_at(start + MS(102)), 5_100_000);
        assert_eq!(clock.shows_at(start), 4_998_000);
    }

    #[test]
    fn a_slow_answer_does_not_blur_what_a_quick_one_proved() {
        let start = Instant::now();
        let quick = DatabaseClock::proven(1_000_000, start, start + MS(2));
        let slow = DatabaseClock::proven(1_050_000, start + MS(10), start + MS(110));
        let known = quick.or_better(slow);
        assert_eq!(known.reached_at(1_200_000), start + MS(202));
        assert_eq!(known.not_before(1_200_000), start + MS(200));
        // The other way round the quick one replaces the slow one.
        assert_eq!(slow.or_better(quick).reached_at(1_200_000), start + MS(202));
    }

    #[test]
    fn a_clock_that_was_set_is_believed_at_once() {
        let start = Instant::now();
        let before = DatabaseClock::proven(1_000_000, start, start + MS(2));
        let after = DatabaseClock::proven(9_000_000, start + MS(10), start + MS(60));
        assert_eq!(before.or_better(after).reached_at(9_000_000), start + MS(60));
    }

    #[test]
    fn an_old_proof_gives_way() {
        let start = Instant::now();
        let old = DatabaseClock::proven(0, start, start + MS(1));
        let new = DatabaseClock::proven(61_000_000, start + MS(61_000), start + MS(61_020));
        assert_eq!(old.or_better(new).reached_at(61_000_000), start + MS(61_020));
    }
}
