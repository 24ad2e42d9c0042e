//! The memory of requests: one budget for all of them, so that many large ones at once are told to come back instead of ending the process.
//!
//! Each takes what its body has, and what reading it makes of that, before it is there; and gives it back with its answer.

use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of all requests together: two of the largest and costliest at once.
const MAX_TOTAL_BYTES: usize = 256_000_000;
/// Bytes that are counted as one: smaller requests cost nothing.
const UNIT_BYTES: usize = 16_000;

/// The budget.
#[derive(Clone, Debug)]
pub struct RequestMemory(Arc<Semaphore>);

impl Default for RequestMemory {
    fn default() -> Self {
        Self::of(MAX_TOTAL_BYTES)
    }
}

impl RequestMemory {
    /// So many bytes.
    #[must_use]
    pub fn of(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes / UNIT_BYTES)))
    }

    /// What one request takes of it: nothing yet.
    pub(crate) fn share(&self) -> Share {
        Share { all: Arc::clone(&self.0), taken: Mutex::default() }
    }
}

/// What one request has taken.
#[derive(Debug)]
pub(crate) struct Share {
    all: Arc<Semaphore>,
    taken: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Share {
    /// Takes as much as makes it so many bytes in all. False: there is not so much left.
    #[must_use]
    pub(crate) fn grow_to(&self, bytes: usize) -> bool {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let more =
            (bytes / UNIT_BYTES).saturating_sub(taken.as_ref().map_or(0, OwnedSemaphorePermit::num_permits));
        let Ok(more) = u32::try_from(more) else { return false };
        if more == 0 {
            return true;
        }
        let Ok(permit) = Arc::clone(&self.all).try_acquire_many_owned(more) else { return false };
        match taken.as_mut() {
            Some(taken) => taken.merge(permit),
            None => *taken = Some(permit),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_comes_back_with_the_share() {
        let memory = RequestMemory::of(10 * UNIT_BYTES);
        let (first, second) = (memory.share(), memory.share());
        assert!(
            first.grow_to(4 * UNIT_BYTES) && first.grow_to(6 * UNIT_BYTES),
            "it grows to six, not by six"
        );
        assert!(second.grow_to(4 * UNIT_BYTES) && !second.grow_to(5 * UNIT_BYTES));
        assert!(second.grow_to(UNIT_BYTES - 1), "what is small is always there");
        drop(first);
        assert!(second.grow_to(10 * UNIT_BYTES));
    }
}
