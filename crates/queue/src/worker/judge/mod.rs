//! What follows a failed attempt: a retry, and after which wait, or a dead letter.

mod ending;
mod schedules;

pub(crate) use ending::{ending_of_failure, failure, wait_after};
pub(crate) use schedules::{Schedules, Waits};
