//! The process's side: claims jobs, runs them, records what came of them.
//!
//! One [`Engine`] per process. It holds one claimer for all idle slots, a task per job, a finisher that writes results in
//! batches, a limiter that reserves send times, and a heartbeat on a connection of its own.

mod engine;
mod handler;
mod held_job;
mod limiter;

pub use crate::store::jobs::{Failure, How, Response};
pub use engine::{Engine, EngineHandle};
pub use handler::{CompletedJob, Handlers, JobHandler, Outcome};
pub use held_job::HeldJob;
pub use limiter::{Slot, Slots};
