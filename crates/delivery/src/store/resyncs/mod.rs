//! Re-syncs and their progress. The counts are those of the batch with its unfolded deltas.

mod enumerate;
mod read;
mod start;
mod state;

pub(crate) use enumerate::{Candidate, Enumeration, lock_running, save_cursor, scan};
pub(crate) use read::{Unfinished, get, list, unfinished};
pub(crate) use start::{NewRow, cool_down_left, insert, is_running};
pub(crate) use state::{
    complete_if_done, detach_successors, finish_cancelling, live_changes_among, lock, set_state,
};

fn not_found() -> crate::DeliveryError {
    crate::DeliveryError::not_found("resync")
}
