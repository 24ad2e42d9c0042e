//! The engine of a process: claims jobs, runs them, and records their results.
//!
//! One [`Engine`] per process. Its rooms, in the order a job comes through them:
//!
//! - `claim`: takes jobs for all free slots of the process at once.
//! - `run`: makes one attempt at a claimed job, in a task of its own, and ends it in time.
//! - `handler`: what a program writes, and the job it is given.
//! - `limit`: when a handler may send under the rate limits of all processes.
//! - `judge`: what follows a failed attempt.
//! - `finish`: records ends in batches, and tells the circuit breakers.
//! - `lease` and `heartbeat`: what the process may rely on, and how it keeps that.
//! - `state`: what these rooms tell each other.
//! - `engine`: starts them, watches over them, and stops them in order.

mod claim;
mod engine;
mod finish;
mod handler;
mod heartbeat;
mod judge;
mod lease;
mod limit;
mod run;
#[cfg(test)]
mod sample_job;
mod state;

pub use crate::store::jobs::{Completion, Failure, Response};
#[cfg(feature = "testing")]
pub(crate) use engine::by_hand;
pub use engine::{
    report::{EngineReport, EngineWatch},
    start::Engine,
};
pub(crate) use handler::DEFAULT_PROGRAM;
pub use handler::{
    attempt_handler::{AttemptHandler, CompletedJob, EndedAs, EndedJob, Outcome},
    handlers::Handlers,
    leased_job::LeasedJob,
    progress::{LeaseLost, Progress},
    send_permit::SendPermit,
    unhandled::Unhandled,
};
pub use limit::slots::{AT_ONCE, Slot};
pub use state::meters::{Rounds, SIZES};
