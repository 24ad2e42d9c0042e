//! Re-syncs and their progress. The counts are those of the batch, unfolded deltas included.

mod enumerate;
mod read;
mod start;
mod steer;

pub(crate) use enumerate::{Candidate, Enumeration, hold_running, move_on, scan};
pub(crate) use read::{Unfinished, get, list, unfinished};
pub(crate) use start::{NewRow, cool_down_left, insert, is_running};
pub(crate) use steer::{called_off, changed_among, complete_if_done, hold, release_successors, set_state};

fn not_found() -> crate::DeliveryError {
    crate::DeliveryError::not_found("resync")
}
