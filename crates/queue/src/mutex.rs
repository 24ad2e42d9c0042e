//! Locks of plain data, which a panic elsewhere leaves usable.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, also one that a panic has poisoned. For data that is whole after every statement under the lock, so that a panic between two of
/// them breaks nothing.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
