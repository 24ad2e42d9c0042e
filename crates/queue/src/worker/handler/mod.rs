//! What a program writes, and what it is given: the trait of handlers and their registry, the job of a running attempt, and what its jobs can share.

mod attempt_handler;
mod handlers;
mod leased_job;
mod peers;
mod progress;
mod send_permit;
mod unhandled;

pub use attempt_handler::{AttemptHandler, CompletedJob, EndedAs, EndedJob, Outcome};
pub(crate) use handlers::DEFAULT_PROGRAM;
pub use handlers::Handlers;
pub use leased_job::LeasedJob;
pub use peers::Peers;
pub use progress::{LeaseLost, Progress};
pub use send_permit::{SendPermit, Uncertain};
pub use unhandled::Unhandled;
