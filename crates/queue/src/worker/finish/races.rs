//! How often a refused end is tried again before a simpler one is recorded.

use crate::error::{QueueError, code};

/// Deadlocks and serialization failures of one end before a simpler one is tried.
const MAX_DEADLOCKS: u32 = 100;
/// Unique violations before that.
const MAX_COLLISIONS: u32 = 15;
/// Idle transactions before that.
pub(super) const MAX_IDLE_TRIES: u32 = 5;

/// Failed tries of an end, since it was last simplified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Races {
    deadlocks: u32,
    collisions: u32,
    idle_tries: u32,
}

impl Races {
    /// Counts an error of a transaction with this end alone; true if the same end is to be retried.
    pub(super) fn should_retry(&mut self, error: &QueueError) -> bool {
        let QueueError::Database(error) = error else { return false };
        code(error).is_some_and(|code| self.should_retry_after(&code))
    }

    fn should_retry_after(&mut self, code: &str) -> bool {
        match code {
            "55P03" => true,
            "40P01" | "40001" => {
                self.deadlocks += 1;
                self.deadlocks <= MAX_DEADLOCKS
            }
            "23505" => {
                self.collisions += 1;
                self.collisions <= MAX_COLLISIONS
            }
            _ => false,
        }
    }

    /// Counts a handler that let the transaction of this end alone idle; true if it is to be retried.
    pub(super) fn should_retry_idle(&mut self) -> bool {
        self.idle_tries += 1;
        self.idle_tries < MAX_IDLE_TRIES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_time_out_never_counts_and_a_refusal_is_not_retried() {
        for (said, times) in [
            ("55P03", None),
            ("40P01", Some(MAX_DEADLOCKS)),
            ("23505", Some(MAX_COLLISIONS)),
            ("23514", Some(0)),
        ] {
            let mut races = Races::default();
            let gone_on = (0..10_000).position(|_| !races.should_retry_after(said));
            assert_eq!(gone_on.and_then(|times| u32::try_from(times).ok()), times, "{said}");
        }
    }
}
