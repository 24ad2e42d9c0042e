//! What a program writes, and what it is given: the trait of handlers and their registry, the job of a running attempt, and what its jobs can share.

pub(super) mod attempt_handler;
pub(super) mod handlers;
pub(super) mod leased_job;
mod peers;
pub(super) mod progress;
pub(super) mod send_permit;
pub(super) mod unhandled;

pub(crate) use attempt_handler::{AttemptHandler, CompletedJob, EndedAs, EndedJob, Outcome};
pub(crate) use handlers::{DEFAULT_PROGRAM, Handlers};
pub(crate) use leased_job::LeasedJob;
pub(crate) use peers::Peers;
pub(crate) use progress::{LeaseLost, Progress};
pub(crate) use send_permit::{SendPermit, Uncertain};
pub(crate) use unhandled::Unhandled;
