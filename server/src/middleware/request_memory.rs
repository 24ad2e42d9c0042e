//! A memory budget for all requests together, so that many large ones at once are refused for a moment instead of exhausting the process.
//!
//! A request reserves memory for its body, and for what parsing makes of it, before it is allocated, and frees it with its answer.

use queue::mutex::lock;
use std::sync::{Arc, Mutex};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Enough for two of the largest and most expensive requests at once.
const MAX_TOTAL_BYTES: usize = 256_000_000;
/// The unit of counting: smaller requests count as 0.
const UNIT_BYTES: usize = 16_000;

#[derive(Clone, Debug)]
pub struct RequestMemory(Arc<Semaphore>);

impl Default for RequestMemory {
    fn default() -> Self {
        Self::of(MAX_TOTAL_BYTES)
    }
}

impl RequestMemory {
    #[must_use]
    pub fn of(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes / UNIT_BYTES)))
    }

    /// A share for one request, empty at first.
    pub(crate) fn share(&self) -> Share {
        Share { all: Arc::clone(&self.0), taken: Mutex::default() }
    }
}

/// The memory one request has reserved.
#[derive(Debug)]
pub(crate) struct Share {
    all: Arc<Semaphore>,
    taken: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Share {
    /// Grows the share to this many bytes in total. False: there is not enough left.
    #[must_use]
    pub(crate) fn grow_to(&self, bytes: usize) -> bool {
        let mut taken = lock(&self.taken);
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
    fn memory_is_freed_with_the_share() {
        let memory = RequestMemory::of(10 * UNIT_BYTES);
        let (first, second) = (memory.share(), memory.share());
        assert!(
            first.grow_to(4 * UNIT_BYTES) && first.grow_to(6 * UNIT_BYTES),
            "it grows to six, not by six"
        );
        assert!(second.grow_to(4 * UNIT_BYTES) && !second.grow_to(5 * UNIT_BYTES));
        assert!(second.grow_to(UNIT_BYTES - 1), "small requests always fit");
        drop(first);
        assert!(second.grow_to(10 * UNIT_BYTES));
    }
}
